// The public call that registers. It answers the same whether or not the e-mail is already registered.

import { addressKey } from '@underpass/rules/address/address.ts';
import { parseRegistration } from '@underpass/rules/people/registration.ts';
import { addJob } from '../../platform/job/queue.ts';
import { takeShare } from '../../platform/limit/limiter.ts';
import { hashToken } from '../../platform/secret/token.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import type { CallDeps } from '../../request/deps.ts';
import { orInvalidForm } from '../../request/http/refusal.ts';
import { type BotCheck, passBotCheck } from '../auth/bot-check.ts';
import { browserCookie, browserToken } from '../auth/browser.ts';
import { findByToken } from '../invitation/invitations.ts';

interface RegistrationDeps extends Pick<CallDeps, 'store' | 'limiter' | 'jobs' | 'cookies'> {
  readonly botCheck: BotCheck;
}

/** Only who holds the link of an invitation registers as invited: anybody may type somebody else's e-mail. */
async function findInvitation({ store }: RegistrationDeps, token: string | undefined, email: string, nowMs: number) {
  const invitation = token === undefined ? undefined : await findByToken(store.db, token, nowMs);
  return invitation?.email === email ? invitation : undefined;
}

async function register(deps: RegistrationDeps, { request, body, address, nowMs }: CallContext<'register'>): Promise<Response> {
  const { botCheck, ...registration } = orInvalidForm(parseRegistration(body));
  await deps.limiter.take('register', addressKey(address));
  // Before the limit that all callers share: a bot that skips the check must not lock others out.
  await passBotCheck(deps.botCheck, botCheck, address);
  await takeShare(deps.limiter, 'register', address);
  const invitation = await findInvitation(deps, body.invitation, registration.email, nowMs);
  const browser = browserToken(deps.cookies, request.headers);
  const invited = invitation && { invitationId: invitation.id, browserHash: hashToken(browser) };
  await addJob(deps.store.db, nowMs, 'registration', { ...registration, ...invited });
  deps.jobs.wake();
  return new Response(null, { status: 204, headers: { 'set-cookie': browserCookie(deps.cookies, browser) } });
}

export const registrationHandlers = { register } satisfies AreaHandlers<RegistrationDeps>;
