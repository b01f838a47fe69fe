// Visitors' sign-ins under way, in `access_flows`: found by the hash of a secret, bound to the browser that began them, and sealed.
// visitors/programs/flows.ts keeps the rows of programs there.

import { durations } from '@underpass/rules/limits.ts';
import { flowContext } from '../../edges/policies/policy-keys.ts';
import { createToken, hashToken, isToken } from '../../platform/secret/token.ts';
import type { Schema } from '../../platform/store/schema.ts';
import { readCookie, renderCookie } from '../../request/http/cookie.ts';
import type { VisitDeps } from './visit-deps.ts';

const flowMs = durations.accessCodeMinutes * 60_000;
/** Longer than a flow, so the cookie never ends first. */
const cookieSeconds = 15 * 60;

type CookieDeps = Pick<VisitDeps, 'cookies'>;

/** Whether this browser began the flow. */
export function isFlowBrowser({ cookies }: CookieDeps, headers: Headers, browserHash: string): boolean {
  const browser = readCookie(headers, cookies.signIn);
  return browser !== undefined && hashToken(browser) === browserHash;
}

/** One value for all flows of a browser, so that several tabs can sign in. */
export function keepFlowBrowser({ cookies }: CookieDeps, headers: Headers) {
  const known = readCookie(headers, cookies.signIn);
  const browser = known !== undefined && isToken(known) ? known : createToken();
  return { browserHash: hashToken(browser), cookie: renderCookie(cookies.signIn, browser, cookieSeconds, cookies.secure) };
}

type FlowKind = Schema['access_flows']['kind'];

interface NewFlow {
  readonly kind: FlowKind;
  readonly policyId: string;
  readonly secret: string;
  readonly content: object;
}

type FlowDeps = Pick<VisitDeps, 'store' | 'keyRing'>;

export async function addFlow({ store, keyRing }: FlowDeps, flow: NewFlow, nowMs: number): Promise<string> {
  const id = hashToken(flow.secret);
  await store.db
    .insertInto('access_flows')
    .values({
      id,
      policy_id: flow.policyId,
      kind: flow.kind,
      content_sealed: keyRing.seal(JSON.stringify(flow.content), flowContext(id)),
      tries: 0,
      created_at: nowMs,
      expires_at: nowMs + flowMs,
    })
    .execute();
  return id;
}

export interface SignInFlow {
  readonly id: string;
  readonly policyId: string;
  readonly content: unknown;
}

const open = ({ keyRing }: FlowDeps, row: Pick<Schema['access_flows'], 'id' | 'policy_id' | 'content_sealed'>): SignInFlow => ({
  id: row.id,
  policyId: row.policy_id,
  content: JSON.parse(keyRing.open(row.content_sealed, flowContext(row.id))),
});

/** Counts a try before anything is compared, so that tries at the same time cannot exceed `mostTries`. */
export async function tryFlow(
  deps: FlowDeps,
  { kind, secret, mostTries }: { readonly kind: FlowKind; readonly secret: string; readonly mostTries: number },
  nowMs: number,
): Promise<SignInFlow | undefined> {
  const row = await deps.store.db
    .updateTable('access_flows')
    .set((eb) => ({ tries: eb('tries', '+', 1) }))
    .where('id', '=', hashToken(secret))
    .where('kind', '=', kind)
    .where('tries', '<', mostTries)
    .where('expires_at', '>', nowMs)
    .returning(['id', 'policy_id', 'content_sealed'])
    .executeTakeFirst();
  return row && open(deps, row);
}

/** The flow, the first time: of several requests at once, only one deletes it. */
export async function takeFlow(deps: FlowDeps, kind: FlowKind, secret: string, nowMs: number): Promise<SignInFlow | undefined> {
  const row = await deps.store.db
    .deleteFrom('access_flows')
    .where('id', '=', hashToken(secret))
    .where('kind', '=', kind)
    .where('expires_at', '>', nowMs)
    .returning(['id', 'policy_id', 'content_sealed'])
    .executeTakeFirst();
  return row && open(deps, row);
}

/** Changes a flow for a job, which knows the row and not the secret. */
export async function changeFlow(
  { store, keyRing }: FlowDeps,
  id: string,
  change: (content: unknown) => object,
): Promise<boolean> {
  const row = await store.db.selectFrom('access_flows').selectAll().where('id', '=', id).executeTakeFirst();
  if (!row) return false;
  const content = change(open({ store, keyRing }, row).content);
  await store.db
    .updateTable('access_flows')
    .set({ content_sealed: keyRing.seal(JSON.stringify(content), flowContext(id)) })
    .where('id', '=', id)
    .execute();
  return true;
}
