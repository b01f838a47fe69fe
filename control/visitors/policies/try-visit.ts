// "Test this policy": what would happen to a visit of a person or program from an address, and why.

import { parseAddress } from '@underpass/rules/address/address.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import type { AccessTest } from '@underpass/rules/visit/access-policy.ts';
import { type McpCall, readCall } from '@underpass/rules/visit/call-rule.ts';
import { type AskedVisitor, decideVisit } from '@underpass/rules/visit/decide-visit.ts';
import { hashToken } from '../../platform/secret/token.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { CallContext } from '../../request/caller/call.ts';
import { orInvalid, refuse } from '../../request/http/refusal.ts';
import { findSignInPolicy, type SignInPolicy } from './find-sign-in-policy.ts';
import { getPolicyRow, type PolicyDeps } from './write-policy.ts';

type Context = CallContext<'testAccessPolicy'>;

async function readVisitor(db: Queries, projectId: string, { email: text, token }: Context['body']): Promise<AskedVisitor> {
  if (text && token) return refuse('invalid', 'Give an e-mail address or a token, not both.');
  if (token) return { kind: 'token', hash: hashToken(token.trim()) };
  if (!text) return { kind: 'nobody' };
  const email = orInvalid(parseEmail(text));
  const members = db.selectFrom('members as m').innerJoin('users as u', 'u.id', 'm.user_id').select('u.id');
  const member = await members.where('m.project_id', '=', projectId).where('u.email', '=', email).executeTakeFirst();
  return { kind: 'person', email, memberId: member?.id ?? null };
}

function readAddress(given: string | undefined, own: string): string {
  const address = given?.trim() || own;
  return parseAddress(address) === null ? refuse('invalid', 'Please enter a valid IP address.') : address;
}

async function findTested(deps: PolicyDeps, { membership, segments, nowMs }: Context, url: URL): Promise<SignInPolicy> {
  const { id, name } = await getPolicyRow(deps.store.db, membership, segments.name);
  const policy = await findSignInPolicy(deps.store.db, deps.keyRing, url.hostname, nowMs);
  return policy?.policyId === id
    ? policy
    : refuse('invalid', `No tunnel with access policy '${name}' has this address. Enter the URL of one, such as https://…/path.`);
}

/** The call behind the `#` of an address, as a rule spells it: `https://…/mcp#tools/call delete_all`. */
function readTestedCall({ hash }: URL): McpCall | null {
  const [method = '', ...words] = hash.slice(1).replaceAll('%20', ' ').split(' ');
  return readCall(method, words.length === 0 ? null : words.join(' '));
}

export async function testPolicy(deps: PolicyDeps, context: Context): Promise<AccessTest> {
  const { membership, body, address, nowMs } = context;
  const url = URL.parse(body.url.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return refuse('invalid', "Enter a URL that begins with 'https://'.");
  const policy = await findTested(deps, context, url);
  return decideVisit({
    securityGroup: { name: policy.securityGroup.name, allowList: JSON.parse(policy.securityGroup.allowList) as string[] },
    address: readAddress(body.address, address),
    target: url.pathname + url.search,
    call: readTestedCall(url),
    policy,
    visitor: await readVisitor(deps.store.db, membership.id, body),
    nowMs,
  });
}
