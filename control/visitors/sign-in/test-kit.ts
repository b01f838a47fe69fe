// A control for tests of the sign-in pages, with a tunnel that has an access policy, and what browsers do with its answers.

import assert from 'node:assert/strict';
import { randomBytes, scryptSync } from 'node:crypto';
import type { AccessSignIn } from '@underpass/rules/visit/access-policy.ts';
import type { VisitorClaims } from '@underpass/rules/visit/grants.ts';
import { verifyVisit } from '@underpass/wire/ticket/signed-visit.ts';
import { createKeyRing } from '../../platform/secret/key-ring.ts';
import { createTestControl, type SignedUp, type TestClient, type TestControl, type TestControlOptions } from '../../test-kit.ts';
import { findSignInPolicy, type SignInPolicy } from '../policies/find-sign-in-policy.ts';

/** What an edge derives from the nonce in a browser's cookie. */
export const state = randomBytes(32).toString('base64url');

export interface VisitStage extends TestControl {
  /** The owner of the project. */
  readonly ann: SignedUp;
  /** The host of the tunnel `web`, which has the policy. */
  readonly host: string;
  /** The host of the tunnel `bare`, which has none. */
  readonly bareHost: string;
  change(change: object): Promise<void>;
  policy(): Promise<SignInPolicy>;
  /** What a ticket in this answer says; fails the test if there is none, or if it is not for this host and state. */
  claimsIn(response: Response): Promise<VisitorClaims>;
  signIns(): Promise<readonly AccessSignIn[]>;
}

async function makeTunnel(ann: SignedUp, name: string, body: object): Promise<string> {
  const path = `/api/tunnels?project=${ann.projectId}`;
  const tunnel = await ann.call<{ ingressDomains: { name: string }[] }>('POST', path, { name, region: 'local', ...body });
  return tunnel.ingressDomains[0]!.name;
}

/** The edge's address that an answer leads to, by redirect or by a page. */
export async function ticketUrlIn(response: Response): Promise<URL | undefined> {
  const location = response.headers.get('location');
  if (location !== null) return new URL(location, 'http://localhost:8400');
  const found = /content="0;url=([^"]+)"/.exec(await response.clone().text());
  return found === null ? undefined : new URL(found[1]!.replaceAll('&amp;', '&'));
}

/** The same password with a cheap hash: a good one takes a second of a busy machine. */
async function hashCheaply({ store }: TestControl, password: string): Promise<void> {
  const salt = randomBytes(16);
  const hash = scryptSync(password, salt, 32, { N: 16, r: 8, p: 1 });
  const text = `scrypt$4$8$1$${salt.toString('base64url')}$${hash.toString('base64url')}`;
  await store.db.updateTable('access_policies').set({ password_hash: text }).execute();
}

export async function openVisitStage(
  policy: { readonly password?: string; readonly [field: string]: unknown },
  options: TestControlOptions = {},
): Promise<VisitStage> {
  const keyRing = createKeyRing([randomBytes(32)]);
  const test = await createTestControl({ keyRing, ...options });
  const ann = await test.signUp('ann@example.com');
  const inProject = `project=${ann.projectId}`;
  await ann.call('POST', `/api/access-policies?${inProject}`, { name: 'team', ...policy });
  if (policy.password !== undefined) await hashCheaply(test, policy.password);
  const host = await makeTunnel(ann, 'web', { accessPolicy: 'team' });
  const bareHost = await makeTunnel(ann, 'bare', {});
  const readPolicy = async () => (await findSignInPolicy(test.store.db, keyRing, host, test.time.now))!;
  return {
    ...test,
    ann,
    host,
    bareHost,
    change: async (change) => void (await ann.call('PATCH', `/api/access-policies/team?${inProject}`, change)),
    policy: readPolicy,
    claimsIn: async (response) => {
      const url = await ticketUrlIn(response);
      assert.ok(url, `no ticket: ${response.status}`);
      const { visitKey, url: publicUrl } = await readPolicy();
      assert.equal(url.origin + url.pathname, `${publicUrl}/.underpass/access/enter`);
      const opened = verifyVisit(visitKey, 'ticket', host, url.searchParams.get('ticket')!, test.time.now);
      assert.ok(opened, 'the ticket does not open');
      assert.deepEqual([opened.state, opened.untilMs], [state, test.time.now + 60_000]);
      return opened.claims;
    },
    signIns: async () => {
      const page = await ann.call<{ entries: AccessSignIn[] }>('GET', `/api/access-sign-ins?${inProject}`);
      return page.entries;
    },
  };
}

/** Posts a form of the pages, as the browser that shows it does. */
export const postForm = (
  client: TestClient,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> => client.send('POST', path, new URLSearchParams(fields), headers);

/** The value of a hidden field. */
export function fieldIn(page: string, name: string): string {
  const found = new RegExp(`name="${name}" value="([^"]*)"`).exec(page);
  assert.ok(found, `the page has no field ${name}`);
  return found[1]!;
}
