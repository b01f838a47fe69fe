// Finishes every sign-in: tests the claims against the policy, writes the log, and sends the visitor to the edge with a ticket, or
// to the page that asks whether a program may act for them.

import { hourMs } from '@underpass/rules/limits.ts';
import { refusalOf, type VisitorClaims } from '@underpass/rules/visit/grants.ts';
import { signVisit } from '@underpass/wire/ticket/signed-visit.ts';
import { seeOther } from '../../request/http/see-other.ts';
import type { SignInPolicy } from '../policies/find-sign-in-policy.ts';
import { html, renderNote } from './page.ts';
import { logSignIn } from './sign-in-log.ts';
import { type SignInTarget, targetQuery } from './target.ts';
import type { Visit, VisitDeps } from './visit-deps.ts';

/** Long enough for the browser to follow the redirect. */
const ticketMs = 60_000;

/** `proven`: what the sign-in method established about the visitor. */
export const claimsOf = (
  { policy, nowMs }: Visit,
  proven: Pick<VisitorClaims, 'method' | 'subject'> & Partial<Pick<VisitorClaims, 'email' | 'groups' | 'source'>>,
): VisitorClaims => ({
  email: '',
  groups: [],
  source: '',
  ...proven,
  signedInAtMs: nowMs,
  expiresAtMs: nowMs + policy.content.sessionHours * hourMs,
});

export const signInUrl = (target: SignInTarget): string => `/access/sign-in?${targetQuery(target)}`;

function ticketUrl(policy: SignInPolicy, state: string, claims: VisitorClaims, nowMs: number): string {
  const ticket = signVisit(policy.visitKey, 'ticket', policy.host, { claims, untilMs: nowMs + ticketMs, state });
  return `${policy.url}/.underpass/access/enter?ticket=${ticket}`;
}

function edgeAnswer({ policy, request, nowMs }: Visit, state: string, claims: VisitorClaims): Response {
  const url = ticketUrl(policy, state, claims, nowMs);
  // A redirect that answers a form, here or at an identity provider, is subject to the page's form-action.
  const mayRedirect = request.method === 'GET' && !new URL(request.url).pathname.startsWith('/access/oidc/');
  if (mayRedirect) return seeOther(url);
  const action = { label: 'Continue', url };
  return renderNote('You are signed in', html`Your browser opens ${policy.host} now. If it does not, press Continue.`, {
    goesTo: url,
    action,
  });
}

const refusals = {
  expired: 'The session would expire at once.',
  'signed-out': 'The visitor was signed out while signing in.',
  'not-admitted': 'The policy does not admit this visitor.',
} as const;

async function refuseVisitor(
  deps: VisitDeps,
  visit: Visit,
  outcome: { readonly who: string; readonly method: VisitorClaims['method']; readonly reason: string },
): Promise<Response> {
  await logSignIn(deps, visit, outcome);
  const { policy, target } = visit;
  const who = outcome.who === '' ? null : html`You signed in as <strong>${outcome.who}</strong>. `;
  const action = { label: 'Sign in another way', url: signInUrl(target) };
  const text = html`${who}This sign-in gives no access to ${policy.host}. Ask the people of the project ${policy.projectName} for access.`;
  return renderNote('You may not visit this address', text, { status: 403, action });
}

/** `name` is what the sign-in log calls the visitor, if they have no e-mail address. */
export async function finishSignIn(deps: VisitDeps, visit: Visit, claims: VisitorClaims, name = ''): Promise<Response> {
  const { target, policy, nowMs } = visit;
  const who = claims.email || name;
  const refusal = refusalOf(claims, policy.grants, nowMs);
  if (refusal !== null) return refuseVisitor(deps, visit, { who, method: claims.method, reason: refusals[refusal] });
  await logSignIn(deps, visit, { who, method: claims.method, reason: '' });
  switch (target.kind) {
    case 'edge':
      return edgeAnswer(visit, target.state, claims);
    case 'program':
      return deps.programs.finish(target.id, visit.request.headers, claims);
  }
}
