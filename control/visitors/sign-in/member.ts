// Members of the project: their session in the dashboard is the proof. Without one, the dashboard's sign-in leads back here.

import { tellNarrowed } from '../../platform/bus/narrowed-rights.ts';
import type { Caller } from '../../request/caller/caller.ts';
import { isClosed } from '../../request/caller/passkey-rule.ts';
import { endSession, findSessionCaller } from '../../request/caller/session.ts';
import { readCookie, renderCookie } from '../../request/http/cookie.ts';
import { seeOther } from '../../request/http/see-other.ts';
import { claimsOf, finishSignIn, signInUrl } from './finish.ts';
import { hiddenFields, html, renderPage } from './page.ts';
import { logSignIn } from './sign-in-log.ts';
import { memberPath, targetFields } from './target.ts';
import type { Visit, VisitDeps } from './visit-deps.ts';

/** Only a session: an API token stands for a program, and programs have tokens of the policy. */
async function findSession({ store, cookies }: VisitDeps, { request, nowMs }: Visit): Promise<Caller | null> {
  const cookie = readCookie(request.headers, cookies.session);
  return cookie === undefined ? null : findSessionCaller(store.db, cookie, nowMs);
}

async function needsPasskey({ store }: VisitDeps, projectId: string, caller: Caller): Promise<boolean> {
  const query = store.db.selectFrom('projects').select('passkey_required').where('id', '=', projectId);
  const project = await query.executeTakeFirst();
  return isClosed({ passkeyRequired: project?.passkey_required !== 0 }, caller);
}

type Member = { readonly caller: Caller; readonly refusal: 'no-member' | 'no-passkey' | null } | null;

/** Null without a session. */
export async function findMember(deps: VisitDeps, visit: Visit): Promise<Member> {
  const caller = await findSession(deps, visit);
  if (caller === null) return null;
  const { grants, projectId } = visit.policy;
  if (!grants.memberIds?.includes(caller.userId)) return { caller, refusal: 'no-member' };
  return { caller, refusal: (await needsPasskey(deps, projectId, caller)) ? 'no-passkey' : null };
}

const refusals = {
  'no-member': {
    reason: 'The person is not a member of the project.',
    text: 'is not a member. Ask its owners to invite you, or use another account.',
  },
  'no-passkey': {
    reason: 'The project requires a passkey, and the person signed in without one.',
    text: 'signed in without a passkey, which this project requires. Sign out, then sign in with a passkey.',
  },
} as const;

export async function signInMember(deps: VisitDeps, visit: Visit): Promise<Response> {
  const member = await findMember(deps, visit);
  if (member === null) return seeOther(`/login#${memberPath(visit.target)}`);
  const { caller, refusal } = member;
  const { userId, email } = caller;
  if (refusal === null) return finishSignIn(deps, visit, claimsOf(visit, { method: 'member', subject: userId, email }));
  await logSignIn(deps, visit, { who: email, method: 'member', reason: refusals[refusal].reason });
  const text = html`${visit.policy.host} is open to members of the project ${visit.policy.projectName}. <strong>${email}</strong> ${refusals[refusal].text}`;
  return renderPage({
    title: noAccessTitle,
    status: 403,
    body: html`<h1>${noAccessTitle}</h1>
<p class="lead">${text}</p>
<form method="post" action="/access/sign-out">
${hiddenFields(targetFields(visit.target))}
<button class="button main">Sign out and use another account</button>
<a class="button" href="/account">Open your account</a>
</form>`,
  });
}

const noAccessTitle = 'You may not visit this address';

/** Ends the session in the dashboard, and offers the ways to sign in to the same address. */
export async function signOutMember(deps: VisitDeps, visit: Visit): Promise<Response> {
  const { store, cookies, bus } = deps;
  const { request, address, nowMs } = visit;
  const token = readCookie(request.headers, cookies.session);
  const caller = await findSession(deps, visit);
  if (token !== undefined) await store.write((trx) => endSession(trx, token, address, nowMs));
  if (caller) tellNarrowed(bus, caller.userId);
  const ended = renderCookie(cookies.session, '', 0, cookies.secure);
  return seeOther(signInUrl(visit.target), { 'set-cookie': ended });
}
