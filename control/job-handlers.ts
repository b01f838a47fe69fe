// What each kind of job does. Jobs write every mail, and make the token that a mail contains.

import { createHmac } from 'node:crypto';
import { hourMs } from '@underpass/rules/limits.ts';
import { sendAlertMail } from './alerts/alert-mail.ts';
import type { ControlDeps } from './deps.ts';
import { createLoginLink, loginUrl, proofUrl } from './people/auth/login-link.ts';
import { byActiveMember, findApprover, listFor, type OpenInvitation, renewFor } from './people/invitation/invitations.ts';
import { approveByInvitation, insertRegistration, type Registered } from './people/registration/registrations.ts';
import { isSubscribed } from './people/registration/subscription.ts';
import { addJob, type JobHandlers, type JobPayloads } from './platform/job/queue.ts';
import { hasRoom, type Limiter } from './platform/limit/limiter.ts';
import {
  accountDeletedMail,
  domainLostMail,
  type InvitationFacts,
  type InvitedFacts,
  invitationMail,
  loginLinkMail,
  type MailText,
  plainName,
  proofLinkMail,
  registerFirstMail,
  registrationApprovedMail,
  registrationReceivedMail,
  registrationRejectedMail,
  registrationWaitsMail,
} from './platform/mail/mails.ts';
import type { KeyRing } from './platform/secret/key-ring.ts';
import { hashToken } from './platform/secret/token.ts';
import { endOfIds } from './platform/store/id.ts';
import type { Queries } from './platform/store/store.ts';
import { hasPasskey } from './request/caller/passkey-rule.ts';
import { sendAccessCode } from './visitors/sign-in/code-mail.ts';

type Deps = Pick<ControlDeps, 'store' | 'settings' | 'clock' | 'log' | 'sendMail' | 'keyRing'> & { readonly limiter: Limiter };

const send = (deps: Deps, to: string, mail: MailText): Promise<void> => deps.sendMail({ to, ...mail });

/**
 * Sends nothing to an address without an account or with a suspended one; to one whose registration waits, that it waits; to one
 * that is invited, how to register. The caller got the same answer in every case.
 */
async function sendLoginLink(deps: Deps, payload: JobPayloads['login-link']): Promise<void> {
  const { email, browserHash, isMailed = true, sessionId, path } = payload;
  if (!isMailed) return;
  const { db } = deps.store;
  const account = await db
    .selectFrom('users')
    .select(['id', 'first_name', 'suspended_at'])
    .where('email', '=', email)
    .executeTakeFirst();
  const user = account?.suspended_at === null ? account : undefined;
  const [invitation] = await listFor(db, email, deps.clock());
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
  else if (!account && invitation) await send(deps, email, registerFirstMail(mailFacts(invitation), origin));
}

const mailFacts = ({ projectName, invited_by: invitedBy }: OpenInvitation): InvitedFacts => ({ projectName, invitedBy });

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

/** The invitation of this id, if it is still open and for this e-mail. */
const findInvitation = async (trx: Queries, email: string, id: string | undefined, nowMs: number) =>
  id === undefined ? undefined : (await listFor(trx, email, nowMs)).find((each) => each.id === id);

/**
 * An invited person who has an account, or just got one, gets a login link: they held the invitation's link, and the mail goes to its
 * address. If the mail fails, the repeated job finds the account.
 */
async function takeRegistration(deps: Deps, { invitationId, browserHash, ...registration }: JobPayloads['registration']) {
  const { email } = registration;
  if ((await storeRegistration(deps, registration, invitationId)) !== 'sign-in') return;
  const isMailed = await hasRoom(deps.limiter, 'loginMailPerEmail', email);
  await sendLoginLink(deps, { email, browserHash: browserHash ?? null, isMailed });
}

async function storeRegistration(
  deps: Deps,
  registration: Registered,
  invitationId: string | undefined,
): Promise<'sign-in' | 'wait'> {
  const { store, settings, clock } = deps;
  const { email, firstName, lastName } = registration;
  const nowMs = clock();
  const subscribed = await isSubscribed({ ...deps, db: store.db, lookup: settings.subscriptionLookup }, email);
  return store.write(async (trx) => {
    const user = await trx.selectFrom('users').select('id').where('email', '=', email).executeTakeFirst();
    const invitation = await findInvitation(trx, email, invitationId, nowMs);
    if (user) return invitation ? 'sign-in' : 'wait';
    const isNew = await insertRegistration(trx, registration, subscribed, nowMs);
    if (invitation && settings.invitationsApprove && (await approveByInvitation(trx, { registration, invitation }, nowMs)))
      return 'sign-in';
    if (!isNew) return 'wait';
    if (invitation) await renewFor(trx, email, nowMs);
    await addJob(trx, nowMs, 'registration-mail', { email, firstName, step: 'received' });
    const found = subscribed ? 'An active subscription was found.' : 'No active subscription was found.';
    const who = [plainName(firstName), plainName(lastName), `<${email}>`].filter((word) => word !== '').join(' ');
    const invited = invitation === undefined ? '' : ` Invited by ${invitation.invited_by}.`;
    await mailOperator(trx, settings.origin, `${who} has registered.${invited} ${found}`, nowMs);
    return 'wait';
  });
}

/**
 * The same for each mail about an invitation, so that a browser that kept the first link, and waits for an operator, can still use
 * it. Nobody can make it without the master key, and the store has only its hash.
 */
const invitationToken = (keyRing: KeyRing, invitationId: string): string =>
  createHmac('sha256', keyRing.derive('invitation')[0]).update(invitationId).digest('base64url');

async function makeInvitationLink(deps: Deps, invitationId: string): Promise<InvitationFacts | undefined> {
  const { store, settings } = deps;
  const token = invitationToken(deps.keyRing, invitationId);
  const row = await store.db
    .updateTable('invitations')
    .set({ token_hash: hashToken(token) })
    .where('id', '=', invitationId)
    .where(byActiveMember)
    .returning(['project_id', 'invited_by'])
    .executeTakeFirst();
  const project = row && store.db.selectFrom('projects').select('name').where('id', '=', row.project_id);
  const projectName = (await project?.executeTakeFirst())?.name;
  if (!row || projectName === undefined) return undefined;
  return { projectName, invitedBy: row.invited_by, url: `${settings.origin}/invitations/${token}` };
}

/** Whom an operator has approved, and who is invited, accepts by the link in the same mail. */
async function approvedMail(deps: Deps, email: string, firstName: string): Promise<MailText> {
  const [invitation] = await listFor(deps.store.db, email, deps.clock());
  const facts = invitation && (await makeInvitationLink(deps, invitation.id));
  return registrationApprovedMail(firstName, deps.settings.origin, facts);
}

async function sendRegistrationMail(deps: Deps, { email, firstName, step }: JobPayloads['registration-mail']): Promise<void> {
  const [invitation] = await listFor(deps.store.db, email, deps.clock());
  const mails = {
    received: async () => registrationReceivedMail(firstName, invitation && mailFacts(invitation)),
    approved: () => approvedMail(deps, email, firstName),
    rejected: async () => registrationRejectedMail(firstName),
  };
  await send(deps, email, await mails[step]());
}

async function sendInvitation(deps: Deps, { invitationId }: JobPayloads['invitation']): Promise<void> {
  const { db } = deps.store;
  const row = await db.selectFrom('invitations').selectAll().where('id', '=', invitationId).executeTakeFirst();
  const facts = row && (await makeInvitationLink(deps, invitationId));
  if (!row || !facts) return;
  const { invitationsApprove } = deps.settings;
  const approves = invitationsApprove && (await findApprover(db, row)) !== undefined;
  const account = await db.selectFrom('users').select('id').where('email', '=', row.email).executeTakeFirst();
  await send(deps, row.email, invitationMail(facts, account ? 'sign-in' : approves ? 'register' : 'register-and-wait'));
}

export const createJobHandlers = (deps: Deps): JobHandlers => ({
  'login-link': (payload) => sendLoginLink(deps, payload),
  'access-code': (payload) => sendAccessCode(deps, payload),
  registration: (payload) => takeRegistration(deps, payload),
  'registration-mail': (payload) => sendRegistrationMail(deps, payload),
  'operator-mail': (mail) => send(deps, deps.settings.operatorEmail, mail),
  invitation: (payload) => sendInvitation(deps, payload),
  'alert-mail': (payload) => sendAlertMail(deps, payload),
  notice: ({ email, ...mail }) => send(deps, email, mail),
  'account-deleted': ({ email, firstName }) => send(deps, email, accountDeletedMail(firstName)),
  'domain-lost': ({ email, apexName }) => send(deps, email, domainLostMail(apexName, deps.settings.origin)),
});
