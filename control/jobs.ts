// What each kind of job does. Jobs write every mail, and make the token that a mail contains.

import { hourMs } from '@underpass/rules/limits.ts';
import type { ControlDeps } from './deps.ts';
import { createLoginLink, loginUrl, proofUrl } from './people/auth/login-link.ts';
import { byActiveMember } from './people/invitation/calls.ts';
import { insertRegistration } from './people/registration/registrations.ts';
import { isSubscribed } from './people/registration/subscription.ts';
import { addJob, type JobHandlers, type JobPayloads } from './platform/job/queue.ts';
import type { Limiter } from './platform/limit/limiter.ts';
import {
  accountDeletedMail,
  domainLostMail,
  invitationMail,
  loginLinkMail,
  type MailText,
  plainName,
  proofLinkMail,
  registrationApprovedMail,
  registrationReceivedMail,
  registrationRejectedMail,
  registrationWaitsMail,
} from './platform/mail/mails.ts';
import { createToken, hashToken } from './platform/secret/token.ts';
import { endOfIds } from './platform/store/id.ts';
import type { Queries } from './platform/store/store.ts';
import { hasPasskey } from './request/caller/passkey-rule.ts';
import { sendAccessCode } from './visitors/sign-in/code-mail.ts';

type Deps = Pick<ControlDeps, 'store' | 'settings' | 'clock' | 'log' | 'sendMail' | 'keyRing'> & { readonly limiter: Limiter };

const send = (deps: Deps, to: string, mail: MailText): Promise<void> => deps.sendMail({ to, ...mail });

/**
 * Sends nothing to an address without an account or with a suspended one; to one whose registration waits, that it waits. The
 * caller got the same answer in every case.
 */
async function sendLoginLink(deps: Deps, payload: JobPayloads['login-link']): Promise<void> {
  const { email, browserHash, isMailed = true, sessionId, path } = payload;
  if (!isMailed) return;
  const { db } = deps.store;
  const user = await db
    .selectFrom('users')
    .select(['id', 'first_name'])
    .where('email', '=', email)
    .where('suspended_at', 'is', null)
    .executeTakeFirst();
  const waiting = await db
    .selectFrom('registrations')
    .select('first_name')
    .where('email', '=', email)
    .where('state', '=', 'waiting')
    .executeTakeFirst();
  // Makes a link without a user too, so that the time it takes does not reveal whether the account exists.
  const link = { userId: user?.id ?? null, browserHash, ...(sessionId === undefined ? {} : { sessionId }) };
  const token = await createLoginLink(db, link, deps.clock());
  const { origin } = deps.settings;
  const mail = async ({ id, first_name }: { readonly id: string; readonly first_name: string }): Promise<MailText> =>
    sessionId === undefined
      ? loginLinkMail(first_name, loginUrl(origin, token, path), await hasPasskey(db, id))
      : proofLinkMail(first_name, proofUrl(origin, token));
  if (user) await send(deps, email, await mail(user));
  else if (waiting) await send(deps, email, registrationWaitsMail(waiting.first_name));
}

/**
 * Anybody can cause such a mail. After this many within one hour of the clock, the operator reads the list instead; a flood
 * that goes on is mailed again in the next hour.
 */
const registrationMailsPerHour = 20;

async function mailOperator(trx: Queries, origin: string, news: string, nowMs: number): Promise<void> {
  const hour = Math.floor(nowMs / hourMs) * hourMs;
  const recent = trx
    .selectFrom('registrations')
    .select('id')
    .where('id', '>', endOfIds(hour - 1));
  const count = (await recent.limit(registrationMailsPerHour + 1).execute()).length;
  if (count > registrationMailsPerHour) return;
  const last = count === registrationMailsPerHour ? 'No more mails about registrations in this hour.\n' : '';
  const text = `${news} Decide at ${origin}/operator/registrations\n${last}`;
  await addJob(trx, nowMs, 'operator-mail', { subject: 'A registration waits for your decision', text });
}

async function takeRegistration(deps: Deps, registration: JobPayloads['registration']): Promise<void> {
  const { store, settings, clock } = deps;
  const { email, firstName, lastName } = registration;
  const nowMs = clock();
  const subscribed = await isSubscribed({ ...deps, db: store.db, lookup: settings.subscriptionLookup }, email);
  await store.write(async (trx) => {
    const user = await trx.selectFrom('users').select('id').where('email', '=', email).executeTakeFirst();
    if (user || !(await insertRegistration(trx, registration, subscribed, nowMs))) return;
    await addJob(trx, nowMs, 'registration-mail', { email, firstName, step: 'received' });
    const found = subscribed ? 'An active subscription was found.' : 'No active subscription was found.';
    const who = [plainName(firstName), plainName(lastName), `<${email}>`].filter((word) => word !== '').join(' ');
    await mailOperator(trx, settings.origin, `${who} has registered. ${found}`, nowMs);
  });
}

const registrationMails = {
  received: (firstName: string) => registrationReceivedMail(firstName),
  approved: registrationApprovedMail,
  rejected: (firstName: string) => registrationRejectedMail(firstName),
} as const;

async function sendInvitation(deps: Deps, { invitationId }: JobPayloads['invitation']): Promise<void> {
  const { db } = deps.store;
  const token = createToken();
  const row = await db
    .updateTable('invitations')
    .set({ token_hash: hashToken(token) })
    .where('id', '=', invitationId)
    .where(byActiveMember)
    .returning(['email', 'project_id', 'invited_by'])
    .executeTakeFirst();
  const project = row && (await db.selectFrom('projects').select('name').where('id', '=', row.project_id).executeTakeFirst());
  if (!row || !project) return;
  const { origin } = deps.settings;
  const facts = { projectName: project.name, invitedBy: row.invited_by, url: `${origin}/invitations/${token}`, origin };
  await send(deps, row.email, invitationMail(facts));
}

export const createJobHandlers = (deps: Deps): JobHandlers => ({
  'login-link': (payload) => sendLoginLink(deps, payload),
  'access-code': (payload) => sendAccessCode(deps, payload),
  registration: (payload) => takeRegistration(deps, payload),
  'registration-mail': ({ email, firstName, step }) =>
    send(deps, email, registrationMails[step](firstName, deps.settings.origin)),
  'operator-mail': (mail) => send(deps, deps.settings.operatorEmail, mail),
  invitation: (payload) => sendInvitation(deps, payload),
  notice: ({ email, ...mail }) => send(deps, email, mail),
  'account-deleted': ({ email, firstName }) => send(deps, email, accountDeletedMail(firstName)),
  'domain-lost': ({ email, apexName }) => send(deps, email, domainLostMail(apexName, deps.settings.origin)),
});
