// Sign-in, sign-out, sessions and the bot check.

import { addressKey } from '@underpass/rules/address.ts';
import type { User } from '@underpass/rules/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import { parseLoginForm } from '@underpass/rules/login-form.ts';
import type { Session } from '@underpass/rules/resource.ts';
import { text } from '@underpass/rules/text.ts';
import { auditCall, writeAudit } from '../access/audit.ts';
import type { CallContext, Handlers } from '../access/call.ts';
import { createSession, endSession, sessionMaxSeconds } from '../access/session.ts';
import { tellNarrowed } from '../bus/access.ts';
import type { Bus } from '../bus/bus.ts';
import { limitedAddress } from '../http/address.ts';
import { type CookieNames, readCookie, renderCookie } from '../http/cookie.ts';
import { isOwnNavigation } from '../http/origin.ts';
import { orInvalidForm, orMissing, refuse } from '../http/refusal.ts';
import { addJob, type JobQueue } from '../job/queue.ts';
import { hasRoom, type Limiter, takeShare } from '../limit/limiter.ts';
import { createToken, hashToken, tokenLength } from '../secret/token.ts';
import type { Store } from '../store/store.ts';
import { type BotCheck, passBotCheck } from './bot-check.ts';
import { isOwnLink, isUsableLink, redeemLoginLink } from './login-link.ts';

export interface AuthDeps {
  readonly store: Store;
  readonly bus: Bus;
  readonly limiter: Limiter;
  readonly jobs: Pick<JobQueue, 'wake'>;
  readonly botCheck: BotCheck;
  readonly cookies: CookieNames;
}

// Longer than a link lives: a browser that asks twice keeps its cookie, so both of its links work without a button.
const browserCookieSeconds = 24 * 3600;

const browserToken = (deps: AuthDeps, headers: Headers): string => {
  const known = readCookie(headers, deps.cookies.browser);
  return known?.length === tokenLength ? known : createToken();
};

/**
 * Does the same work and gives the same answer for every e-mail: the job looks up the account later. After many requests for one
 * e-mail its job sends no mail; the links of the earlier mails still work.
 */
const requestLoginLink = async (deps: AuthDeps, { request, body, address, nowMs }: CallContext<'requestLoginLink'>) => {
  const { email, botCheck } = orInvalidForm(parseLoginForm(body));
  await deps.limiter.take('loginLinkPerAddress', addressKey(address));
  // Before the limits that are shared with others: a bot that skips the check must not use up somebody else's links.
  await passBotCheck(deps.botCheck, botCheck, address);
  await takeShare(deps.limiter, 'loginLink', address);
  const isMailed = await hasRoom(deps.limiter, 'loginMailPerEmail', email);
  const browser = browserToken(deps, request.headers);
  await addJob(deps.store.db, nowMs, 'login-link', { email, browserHash: hashToken(browser), isMailed });
  deps.jobs.wake();
  const cookie = renderCookie(deps.cookies.browser, browser, browserCookieSeconds, deps.cookies.secure);
  return new Response(null, { status: 204, headers: { 'set-cookie': cookie } });
};

/** Only a link that does not work counts, so that others at the same address cannot keep out a person with a right one. */
const refuseLink = async (deps: AuthDeps, address: string): Promise<never> => {
  await deps.limiter.take('wrongLink', addressKey(address));
  return refuse('signedOut', text.login.failed);
};

const redeem = async (deps: AuthDeps, { request, body, caller, address, nowMs }: CallContext<'redeemLoginLink'>) => {
  if (!(await isUsableLink(deps.store.db, body.token, nowMs))) return refuseLink(deps, address);
  const old = readCookie(request.headers, deps.cookies.session);
  const token = await deps.store.write(async (trx) => {
    const user = await redeemLoginLink(trx, body.token, nowMs);
    if (!user) return refuse('signedOut', text.login.failed);
    if (old !== undefined) await endSession(trx, old, address, nowMs);
    await writeAudit(trx, { projectId: null, actor: user.email, action: 'session.create', target: user.email, address }, nowMs);
    const userAgent = request.headers.get('user-agent') ?? '';
    return createSession(trx, { userId: user.userId, address, userAgent }, nowMs);
  });
  if (caller) tellNarrowed(deps.bus, caller.userId);
  const cookie = renderCookie(deps.cookies.session, token, sessionMaxSeconds, deps.cookies.secure);
  return new Response(null, { status: 204, headers: { 'set-cookie': cookie } });
};

const logOut = async (deps: AuthDeps, { request, caller, address, nowMs }: CallContext<'logOut' | 'logOutByPost'>) => {
  const token = readCookie(request.headers, deps.cookies.session);
  if (token !== undefined) await deps.store.write((trx) => endSession(trx, token, address, nowMs));
  if (caller) tellNarrowed(deps.bus, caller.userId);
  const headers = new Headers({ 'set-cookie': renderCookie(deps.cookies.session, '', 0, deps.cookies.secure) });
  if (request.headers.get('sec-fetch-mode') !== 'navigate') return new Response(null, { status: 204, headers });
  headers.set('location', '/');
  return new Response(null, { status: 303, headers });
};

const listSessions = async (deps: AuthDeps, { caller, nowMs }: CallContext<'listSessions'>): Promise<Session[]> => {
  const rows = await deps.store.db
    .selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', caller.userId)
    .where('expires_at', '>', nowMs)
    .where('seen_at', '>', nowMs - durations.sessionIdleDays * 24 * 3600_000)
    .orderBy('seen_at', 'desc')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    address: row.address,
    userAgent: row.user_agent,
    createdAt: new Date(row.created_at).toISOString(),
    seenAt: new Date(row.seen_at).toISOString(),
    isCurrent: row.id === caller.sessionId,
  }));
};

const deleteSession = async (deps: AuthDeps, context: CallContext<'deleteSession'>): Promise<void> => {
  const { caller, segments } = context;
  await deps.store.write(async (trx) => {
    const query = trx.deleteFrom('sessions').where('id', '=', segments.id).where('user_id', '=', caller.userId);
    const { id } = orMissing(await query.returning('id').executeTakeFirst(), 'Session');
    await auditCall(trx, context, 'session.end', caller.email, id === caller.sessionId ? {} : { session: id });
  });
  tellNarrowed(deps.bus, caller.userId);
};

const getUser = async ({ caller }: CallContext<'getUser'>): Promise<User> => ({
  email: caller.email,
  firstName: caller.firstName,
  defaultProject: caller.defaultProject ?? '',
  operator: caller.operator,
});

type Names =
  | 'getUser'
  | 'requestLoginLink'
  | 'checkLoginLink'
  | 'redeemLoginLink'
  | 'logOut'
  | 'logOutByPost'
  | 'listSessions'
  | 'deleteSession'
  | 'getBotCheck'
  | 'getBotChallenge';

export const createAuthCalls = (deps: AuthDeps): Handlers<Names> => ({
  getUser,
  requestLoginLink: (context) => requestLoginLink(deps, context),
  checkLoginLink: async ({ request, body, nowMs }) => {
    const browser = readCookie(request.headers, deps.cookies.browser);
    return { sameBrowser: await isOwnLink(deps.store.db, body.token, browser, nowMs) };
  },
  redeemLoginLink: (context) => redeem(deps, context),
  logOut: async (context) =>
    isOwnNavigation(context.request.headers) ? logOut(deps, context) : refuse('forbidden', 'Log out from a page of this site.'),
  logOutByPost: (context) => logOut(deps, context),
  listSessions: (context) => listSessions(deps, context),
  deleteSession: (context) => deleteSession(deps, context),
  getBotCheck: async () => deps.botCheck.describe(),
  getBotChallenge: async ({ request, address }) => {
    await deps.limiter.take('botCheck', limitedAddress(address, request.headers));
    return orMissing(await deps.botCheck.createChallenge(), 'Challenge');
  },
});
