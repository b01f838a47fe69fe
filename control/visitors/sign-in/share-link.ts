// Share links. Opening a link counts as no use, so previews and scanners do not use it up. Only the form that posts its secret
// counts, which the browser sends after the edge has given it a nonce.

import { addressKey } from '@underpass/rules/address/address.ts';
import { hashToken } from '../../platform/secret/token.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { SignInPolicy } from '../policies/find-sign-in-policy.ts';
import { claimsOf, finishSignIn, signInUrl } from './finish.ts';
import { breakableHost, html, renderNote, renderPage } from './page.ts';
import { logSignIn } from './sign-in-log.ts';
import { ofProject } from './sign-in-page.ts';
import type { Visit, VisitDeps } from './visit-deps.ts';

export function renderLinkPage(policy: SignInPolicy): Response {
  const title = `You have a link to ${policy.host}`;
  const url = `${policy.url}/.underpass/access/sign-in?return=/`;
  return renderPage({
    title,
    withScript: true,
    body: html`<h1>You have a link to ${breakableHost(policy.host)}</h1>
<p class="lead">${ofProject({ policy, programName: undefined })}</p>
<div class="way"><a class="button main" href="${url}" data-opens="${policy.host}">Open ${policy.host}</a></div>
<p class="wrong" data-incomplete hidden>This link is incomplete. Copy the whole link, then open it again.</p>
<noscript><p class="wrong">This link needs JavaScript, which is switched off in this browser. Switch it on, then open the link again.</p></noscript>`,
  });
}

const refusals = {
  unknown: { reason: 'The link is unknown or was revoked.', text: 'It was revoked, or part of it is missing.' },
  expired: { reason: 'The link has expired.', text: 'It has expired.' },
  used: { reason: 'The link has no uses left.', text: 'It has no uses left.' },
} as const;

async function refuseLink(deps: VisitDeps, visit: Visit, why: keyof typeof refusals, name: string): Promise<Response> {
  await logSignIn(deps, visit, { who: name, method: 'link', reason: refusals[why].reason });
  const text = html`${refusals[why].text} Ask the person who gave it to you for a new one.`;
  const action = { label: 'Sign in another way', url: signInUrl(visit.target) };
  return renderNote('The link does not work', text, { status: 403, action });
}

const findLink = ({ store }: VisitDeps, policyId: string, secret: string) =>
  store.db
    .selectFrom('access_links')
    .selectAll()
    .where('policy_id', '=', policyId)
    .where('secret_hash', '=', hashToken(secret))
    .executeTakeFirst();

const isOver = ({ expires_at }: Schema['access_links'], nowMs: number): boolean => expires_at !== null && expires_at <= nowMs;

/** True for at most `most_uses` requests, also at the same time: one statement compares and counts. */
async function countUse({ store }: VisitDeps, id: string, nowMs: number): Promise<boolean> {
  const counted = await store.db
    .updateTable('access_links')
    .set((eb) => ({ uses: eb('uses', '+', 1), used_at: nowMs }))
    .where('id', '=', id)
    .where((eb) => eb.or([eb('most_uses', 'is', null), eb('uses', '<', eb.ref('most_uses'))]))
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .executeTakeFirst();
  return counted.numUpdatedRows > 0n;
}

export async function signInByLink(deps: VisitDeps, visit: Visit, { secret }: { readonly secret: string }): Promise<Response> {
  const { policy, nowMs, address } = visit;
  const link = await findLink(deps, policy.policyId, secret);
  if (link === undefined) {
    await deps.limiter.take('accessLinkTry', addressKey(address));
    return refuseLink(deps, visit, 'unknown', '');
  }
  if (isOver(link, nowMs)) return refuseLink(deps, visit, 'expired', link.name);
  if (!(await countUse(deps, link.id, nowMs))) return refuseLink(deps, visit, 'used', link.name);
  const claims = claimsOf(visit, { method: 'link', subject: link.id, source: link.id });
  const expiresAtMs = Math.min(claims.expiresAtMs, link.expires_at ?? claims.expiresAtMs);
  return finishSignIn(deps, visit, { ...claims, expiresAtMs }, link.name);
}
