// Decides what would happen to a visit, and why, for the test of a policy. Uses the functions by which the edge decides. Pure.

import { compileAllowList } from '../address/allow-list.ts';
import { isCallRule, type McpCall } from './call-rule.ts';
import { refusalOf, type SignInMethod, type VisitorClaims, type VisitRules } from './grants.ts';
import type { PathRule } from './path-rule.ts';
import { compileRules } from './rule-match.ts';

/** Who visits: somebody who has not signed in, a person by e-mail, or a machine by the hash of its token. */
export type AskedVisitor =
  | { readonly kind: 'nobody' }
  /** `memberId`: the id of the user with this address; null: none. */
  | { readonly kind: 'person'; readonly email: string; readonly memberId: string | null }
  | { readonly kind: 'token'; readonly hash: string };

export interface AskedVisit {
  readonly securityGroup: { readonly name: string; readonly allowList: readonly string[] };
  readonly address: string;
  /** Path and query. */
  readonly target: string;
  /** The MCP call that the request names; null: none. */
  readonly call: McpCall | null;
  readonly policy: VisitRules;
  readonly visitor: AskedVisitor;
  readonly nowMs: number;
}

interface DecidedVisit {
  readonly outcome: 'allow' | 'sign-in' | 'refuse';
  readonly securityGroup: { readonly name: string; readonly allowed: boolean; readonly rule: string | null };
  readonly rule: PathRule | null;
  readonly why: readonly string[];
  readonly method?: SignInMethod | 'token';
}

type Verdict = Pick<DecidedVisit, 'outcome' | 'method'> & { readonly why: readonly string[] };

export function decideVisit(asked: AskedVisit): DecidedVisit {
  const { securityGroup, address, policy, target, call } = asked;
  const allowedBy = securityGroup.allowList.find((rule) => compileAllowList([rule])(address)) ?? null;
  const { action, rule } = compileRules(policy.rules).decide(target, 'path', call);
  const group = { name: securityGroup.name, allowed: allowedBy !== null, rule: allowedBy };
  const base = { securityGroup: group, rule };
  if (allowedBy === null) {
    const why = `Security group '${group.name}' does not allow ${address}. It is checked first.`;
    return { ...base, outcome: 'refuse', why: [why] };
  }
  const groupSentence = `Security group '${group.name}' allows ${address} by its rule ${allowedBy}.`;
  const verdict = action === 'sign-in' ? decideVisitor(asked) : byAction[action];
  return { ...base, ...verdict, why: [groupSentence, ruleSentence(asked, rule, action), ...verdict.why] };
}

const byAction: Readonly<Record<'public' | 'deny', Verdict>> = {
  public: { outcome: 'allow', why: ['Everybody may visit it, without a sign-in.'] },
  deny: { outcome: 'refuse', why: ['Nobody may visit it.'] },
};

function ruleSentence({ policy, call }: AskedVisit, rule: PathRule | null, action: string): string {
  const place = rule && `Path rule ${policy.rules.indexOf(rule) + 1}, '${rule.path}'`;
  if (rule !== null && isCallRule(rule) && call === null)
    return `${place}, is about MCP calls, and this request names none: deny.`;
  if (rule !== null) return `${place}, decides: ${action}.`;
  if (action === 'deny') return 'Servers may read this path in more than one way, so it is refused.';
  return 'No path rule matches, so the path needs a sign-in.';
}

function decideVisitor({ visitor, policy, nowMs }: AskedVisit): Verdict {
  switch (visitor.kind) {
    case 'nobody':
      return { outcome: 'sign-in', why: ['The visitor has not signed in: a browser goes to the sign-in, a program gets 401.'] };
    case 'token':
      return decideToken(visitor.hash, policy, nowMs);
    case 'person':
      return decidePerson(visitor, policy, nowMs);
  }
}

function decideToken(hash: string, { tokens }: VisitRules, nowMs: number): Verdict {
  const token = tokens.find((each) => each.hash === hash);
  if (token === undefined) return { outcome: 'refuse', why: ['The policy has no such token: a program gets 401.'] };
  if (token.expiresAtMs !== null && token.expiresAtMs <= nowMs)
    return { outcome: 'refuse', why: [`Token '${token.name}' has ended: a program gets 401.`] };
  return { outcome: 'allow', method: 'token', why: [`Token '${token.name}' is valid.`] };
}

/** Ways to sign in that depend on the e-mail address; passwords and links ask for none. */
const ways = ['member', 'email', 'oidc'] as const;

const admits: Readonly<Record<(typeof ways)[number], (email: string) => string>> = {
  member: (email) => `${email} is a member of the project.`,
  email: (email) => `${email} is in the list of people.`,
  oidc: (email) => `${email} is in the list of the provider, which must confirm the address.`,
};

function decidePerson(person: Extract<AskedVisitor, { kind: 'person' }>, policy: VisitRules, nowMs: number): Verdict {
  const method = ways.find((way) => refusalOf(claimsOf(person, way, policy, nowMs), policy.grants, nowMs) === null);
  if (method !== undefined) return { outcome: 'allow', method, why: [admits[method](person.email)] };
  return { outcome: 'refuse', why: [`The policy does not admit ${person.email}.`, ...otherWays(policy)] };
}

/** The claims of a person who signs in now. */
function claimsOf(
  { email, memberId }: { readonly email: string; readonly memberId: string | null },
  method: (typeof ways)[number],
  { grants }: VisitRules,
  nowMs: number,
): VisitorClaims {
  const signedInAtMs = Math.max(nowMs + 1, grants.validFromMs);
  const subject = method === 'member' ? (memberId ?? '') : email;
  const source = method === 'oidc' ? (grants.provider?.id ?? '') : '';
  return { method, subject, email, groups: [], source, signedInAtMs, expiresAtMs: signedInAtMs + 1 };
}

function otherWays({ grants: { provider, passwordId, links } }: VisitRules): readonly string[] {
  return [
    ...(provider !== null && provider.groups.length > 0
      ? ['The provider may still admit them by a group, which this test does not know.']
      : []),
    ...(passwordId !== null ? ['Anyone who knows the password may still enter.'] : []),
    ...(links.length > 0 ? ['Anyone who has a share link may still enter.'] : []),
  ];
}
