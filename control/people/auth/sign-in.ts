// What every way of signing in ends with: a new session instead of the browser's old one, an audit row, the cookie.

import { describeUserAgent } from '@underpass/rules/text/user-agent.ts';
import { tellNarrowed } from '../../platform/bus/narrowed-rights.ts';
import { newSignInMail } from '../../platform/mail/mails.ts';
import { hashToken } from '../../platform/secret/token.ts';
import type { Queries } from '../../platform/store/store.ts';
import { writeAudit } from '../../request/caller/audit.ts';
import type { CallContext } from '../../request/caller/call.ts';
import { addNotices } from '../../request/caller/notice.ts';
import { createSession, endSession, type NewSession, sessionMaxSeconds } from '../../request/caller/session.ts';
import type { CallDeps } from '../../request/deps.ts';
import { readCookie, renderCookie } from '../../request/http/cookie.ts';
import { browserCookie, browserToken } from './browser.ts';
import { meetBrowser } from './known-browser.ts';

export type SignInDeps = Pick<CallDeps, 'store' | 'bus' | 'cookies' | 'jobs' | 'origin'>;

type SignInCall = CallContext<'redeemLoginLink'> | CallContext<'signInByPasskey'>;

/** Who signs in, and by which passkey, if by one. */
export interface SignedIn extends Pick<NewSession, 'userId' | 'passkeyId'> {
  readonly email: string;
}

/** `prove` runs in the transaction of the session. Undefined if it proves nobody; what it wrote then stays. */
export async function signIn(
  deps: SignInDeps,
  { request, address, nowMs }: SignInCall,
  prove: (trx: Queries) => Promise<SignedIn | undefined>,
): Promise<Response | undefined> {
  const old = readCookie(request.headers, deps.cookies.session);
  const browser = browserToken(deps.cookies, request.headers);
  const signedIn = await deps.store.write(async (trx) => {
    const user = await prove(trx);
    if (!user) return undefined;
    const { userId, email, passkeyId } = user;
    const before = old === undefined ? undefined : await endSession(trx, old, address, nowMs);
    const detail = passkeyId === undefined ? {} : { by: 'passkey' };
    await writeAudit(trx, { projectId: null, actor: email, action: 'session.create', target: email, address, detail }, nowMs);
    const userAgent = request.headers.get('user-agent') ?? '';
    const mail = newSignInMail(
      describeUserAgent(userAgent),
      { address, nowMs },
      passkeyId === undefined ? 'link' : 'passkey',
      deps.origin,
    );
    if (await meetBrowser(trx, userId, hashToken(browser), nowMs)) await addNotices(trx, [email], mail, nowMs);
    const session = { userId, address, userAgent, ...(passkeyId === undefined ? {} : { passkeyId }) };
    const { token, hasDropped } = await createSession(trx, session, nowMs);
    return { token, narrowed: [before, hasDropped ? userId : undefined] };
  });
  if (signedIn === undefined) return undefined;
  const { token, narrowed } = signedIn;
  for (const id of narrowed) if (id !== undefined) tellNarrowed(deps.bus, id);
  deps.jobs.wake();
  const headers = new Headers({
    'set-cookie': renderCookie(deps.cookies.session, token, sessionMaxSeconds, deps.cookies.secure),
  });
  headers.append('set-cookie', browserCookie(deps.cookies, browser));
  return new Response(null, { status: 204, headers });
}
