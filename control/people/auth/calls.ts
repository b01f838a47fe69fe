// Sign-in, sign-out, sessions and the bot check.

import { addressKey } from '@underpass/rules/address/address.ts';
import type { User } from '@underpass/rules/entity/entity.ts';
import type { Session } from '@underpass/rules/entity/resource.ts';
import { parseLoginForm } from '@underpass/rules/people/login-form.ts';
import { parseReturnPath } from '@underpass/rules/people/return-path.ts';
import { isLive } from '@underpass/rules/people/session-life.ts';
import { text } from '@underpass/rules/text/text.ts';
import { guardedTunnelsOf } from '../../edges/policies/guarded-tunnels.ts';
import { tellNarrowed } from '../../platform/bus/narrowed-rights.ts';
import { addJob } from '../../platform/job/queue.ts';
import { hasRoom, takeShare } from '../../platform/limit/limiter.ts';
import { hashToken } from '../../platform/secret/token.ts';
import { auditCall, writeAudit } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import { needsOperatorPasskey } from '../../request/caller/passkey-rule.ts';
import { auditFailedSignIn } from '../../request/caller/refusal-audit.ts';
import { endSession, endSignIns, renewProof } from '../../request/caller/session.ts';
import type { CallDeps } from '../../request/deps.ts';
import { limitedAddress } from '../../request/http/address.ts';
import { readCookie, renderCookie } from '../../request/http/cookie.ts';
import { isOwnNavigation } from '../../request/http/origin.ts';
import { orInvalidForm, orMissing, refuse } from '../../request/http/refusal.ts';
import { type BotCheck, passBotCheck } from './bot-check.ts';
import { browserCookie, browserToken } from './browser.ts';
import { checkLink, isUsableLink, redeemLoginLink, redeemProofLink } from './login-link.ts';
import { type SignInDeps, signIn } from './sign-in.ts';

interface AuthDeps extends SignInDeps, Pick<CallDeps, 'feed' | 'limiter'> {
  readonly botCheck: BotCheck;
}

/**
 * Does the same work and gives the same answer for every e-mail: the job looks up the account later. After many requests for one
 * e-mail its job sends no mail; the links of the earlier mails still work.
 */
async function requestLoginLink(deps: AuthDeps, context: CallContext<'requestLoginLink'>) {
  const { request, query, body, address, nowMs } = context;
  const { email, botCheck } = orInvalidForm(parseLoginForm(body));
  await deps.limiter.take('loginLink', addressKey(address));
  // Before the limits that are shared with others: a bot that skips the check must not use up somebody else's links.
  await passBotCheck(deps.botCheck, botCheck, address);
  await takeShare(deps.limiter, 'loginLink', address);
  const isMailed = await hasRoom(deps.limiter, 'loginMailPerEmail', email);
  const browser = browserToken(deps.cookies, request.headers);
  const path = parseReturnPath(query.path ?? '');
  await addJob(deps.store.db, nowMs, 'login-link', {
    email,
    browserHash: hashToken(browser),
    isMailed,
    ...(path === undefined ? {} : { path }),
  });
  deps.jobs.wake();
  return new Response(null, { status: 204, headers: { 'set-cookie': browserCookie(deps.cookies, browser) } });
}

/** Only a link that does not work counts, so that others at the same address cannot keep out a person with a right one. */
async function refuseLink(deps: AuthDeps, { body, address, nowMs }: CallContext<'redeemLoginLink'>): Promise<never> {
  await deps.limiter.take('wrongLink', addressKey(address));
  await auditFailedSignIn(deps, { token: body.token, address, nowMs });
  return refuse('signedOut', text.login.failed);
}

async function redeem(deps: AuthDeps, context: CallContext<'redeemLoginLink'>): Promise<Response> {
  const { body, nowMs } = context;
  if (!(await isUsableLink(deps.store.db, body.token, nowMs))) return refuseLink(deps, context);
  const answer = await signIn(deps, context, (trx) => redeemLoginLink(trx, body.token, nowMs));
  return answer ?? refuseLink(deps, context);
}

async function requestProof(deps: AuthDeps, { request, caller, nowMs }: CallContext<'requestProof'>): Promise<Response> {
  await deps.limiter.take('proofPerUser', caller.userId);
  const browser = browserToken(deps.cookies, request.headers);
  const job = { email: caller.email, browserHash: hashToken(browser), sessionId: caller.sessionId! };
  await addJob(deps.store.db, nowMs, 'login-link', job);
  deps.jobs.wake();
  return new Response(null, { status: 204, headers: { 'set-cookie': browserCookie(deps.cookies, browser) } });
}

const otherLinkText = 'This link is invalid, used or expired, or was asked for in another browser.';

async function redeemProof(deps: AuthDeps, context: CallContext<'redeemProof'>): Promise<void> {
  const { request, caller, body, nowMs } = context;
  const sessionId = caller.sessionId!;
  const link = { token: body.token, sessionId, browser: readCookie(request.headers, deps.cookies.browser) };
  await deps.store.write(async (trx) => {
    if (!(await redeemProofLink(trx, link, nowMs))) refuse('invalid', otherLinkText);
    await renewProof(trx, sessionId, nowMs, 'link');
    await auditCall(trx, context, 'session.prove', caller.email);
  });
}

async function logOut(deps: AuthDeps, { request, address, nowMs }: CallContext<'logOut' | 'logOutByPost'>) {
  const token = readCookie(request.headers, deps.cookies.session);
  const ended = token === undefined ? undefined : await deps.store.write((trx) => endSession(trx, token, address, nowMs));
  if (ended !== undefined) tellNarrowed(deps.bus, ended);
  const headers = new Headers({ 'set-cookie': renderCookie(deps.cookies.session, '', 0, deps.cookies.secure) });
  if (request.headers.get('sec-fetch-mode') !== 'navigate') return new Response(null, { status: 204, headers });
  headers.set('location', '/');
  return new Response(null, { status: 303, headers });
}

/** `underpass logout`. A token that somebody made for programs is not this terminal's to end. */
async function endCliToken(
  deps: AuthDeps,
  token: { id: string; cli: boolean; projectId: string },
  context: CallContext<'logOutByPost'>,
) {
  const { caller, address, nowMs } = context;
  if (!token.cli)
    refuse('forbidden', 'This API token was not made by "underpass login" and stays valid. Revoke it in the dashboard.');
  await deps.store.write(async (trx) => {
    const row = await trx.deleteFrom('api_tokens').where('id', '=', token.id).returning('name').executeTakeFirst();
    if (!row) return;
    const audit = {
      projectId: token.projectId,
      actor: caller!.email,
      action: 'api-token.delete' as const,
      target: row.name,
      address,
    };
    await writeAudit(trx, { ...audit, detail: { by: 'logout' } }, nowMs);
  });
  tellNarrowed(deps.bus, caller!.userId);
  return new Response(null, { status: 204 });
}

async function logOutByPost(deps: AuthDeps, context: CallContext<'logOutByPost'>): Promise<Response> {
  const token = context.caller?.token;
  return token ? endCliToken(deps, token, context) : logOut(deps, context);
}

async function endOtherSignIns(deps: AuthDeps, context: CallContext<'endOtherSignIns'>): Promise<void> {
  const { caller, nowMs } = context;
  const tunnels = await deps.store.write(async (trx) => {
    const ended = await endSignIns(trx, caller.userId, caller.sessionId, nowMs);
    await auditCall(trx, context, 'session.end-others', caller.email, ended);
    return guardedTunnelsOf(trx, caller.userId);
  });
  deps.feed.tunnelsChanged(tunnels);
  tellNarrowed(deps.bus, caller.userId);
}

async function listSessions(deps: AuthDeps, { caller, nowMs }: CallContext<'listSessions'>): Promise<Session[]> {
  const rows = await deps.store.db
    .selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', caller.userId)
    .orderBy('seen_at', 'desc')
    .execute();
  const live = rows.filter((row) => isLive(row, caller.operator, nowMs));
  return live.map((row) => ({
    id: row.id,
    address: row.address,
    userAgent: row.user_agent,
    createdAt: new Date(row.created_at).toISOString(),
    seenAt: new Date(row.seen_at).toISOString(),
    isCurrent: row.id === caller.sessionId,
  }));
}

async function deleteSession(deps: AuthDeps, context: CallContext<'deleteSession'>): Promise<void> {
  const { caller, segments } = context;
  await deps.store.write(async (trx) => {
    const query = trx.deleteFrom('sessions').where('id', '=', segments.id).where('user_id', '=', caller.userId);
    const { id } = orMissing(await query.returning('id').executeTakeFirst(), 'Session');
    await auditCall(trx, context, 'session.end', caller.email, id === caller.sessionId ? {} : { session: id });
  });
  tellNarrowed(deps.bus, caller.userId);
}

const getUser = async (deps: AuthDeps, { caller }: CallContext<'getUser'>): Promise<User> => ({
  email: caller.email,
  firstName: caller.firstName,
  defaultProject: caller.defaultProject ?? '',
  operator: caller.operator,
  ...(caller.isInvited ? { invited: true } : {}),
  ...(caller.operator && caller.passkey === 'none' && (await needsOperatorPasskey(deps.store.db)) ? { passkey: 'needed' } : {}),
});

export const authHandlers = {
  ...{ getUser, requestLoginLink, redeemLoginLink: redeem, logOutByPost, endOtherSignIns },
  ...{ requestProof, redeemProof, listSessions, deleteSession },
  checkLoginLink: async ({ store, cookies }, { request, body, nowMs }) =>
    checkLink(store.db, body.token, readCookie(request.headers, cookies.browser), nowMs),
  logOut: async (deps, context) =>
    isOwnNavigation(context.request.headers) ? logOut(deps, context) : refuse('forbidden', 'Log out from a page of this site.'),
  getOwnAddress: async (_, { address }) => ({ address }),
  getBotCheck: async ({ botCheck }) => botCheck.describe(),
  getBotChallenge: async ({ limiter, botCheck }, { request, address }) => {
    await limiter.take('botCheck', limitedAddress(address, request.headers));
    return orMissing(await botCheck.createChallenge(), 'Challenge');
  },
} satisfies AreaHandlers<AuthDeps>;
