// Describes in one line who may visit under an access policy, and detects two likely mistakes: it admits everybody, or nobody. Pure.

import { counted } from '../text/counted.ts';
import type { AccessPolicy } from './access-policy.ts';
import type { PathRule } from './path-rule.ts';

/** The parts that decide who may visit, of a saved policy or of one that is being edited. */
export interface DescribedPolicy extends Pick<AccessPolicy, 'members' | 'people' | 'password' | 'tokenCount' | 'linkCount'> {
  readonly provider: Pick<NonNullable<AccessPolicy['provider']>, 'label' | 'people' | 'groups'> | null;
  readonly rules: readonly PathRule[];
}

/** `Members, 3 people, password` */
export function describeVisitors(policy: DescribedPolicy): string {
  if (isOpen(policy)) return 'Everybody';
  if (admitsNobody(policy)) return 'Nobody';
  const { members, people, provider, password, tokenCount, linkCount, rules } = policy;
  const parts = [
    members && 'members',
    people.length > 0 && counted(people.length, 'person', 'people'),
    hasListed(provider) && (provider?.label || 'sign-in provider'),
    password && 'password',
    tokenCount > 0 && counted(tokenCount, 'token'),
    linkCount > 0 && counted(linkCount, 'link'),
    rules.some(({ action }) => action === 'public') && 'everybody on public paths',
  ].filter((part) => part !== false);
  const line = parts.join(', ');
  return line.charAt(0).toUpperCase() + line.slice(1);
}

/** The first rule makes every path public. */
export const isOpen = ({ rules: [first] }: Pick<DescribedPolicy, 'rules'>): boolean =>
  first?.path === '/*' && first.action === 'public';

/** No way in: nobody can sign in and no path is public, or the first rule refuses every path. */
export function admitsNobody({ members, people, provider, password, tokenCount, linkCount, rules }: DescribedPolicy): boolean {
  if (rules[0]?.path === '/*' && rules[0].action === 'deny') return true;
  const canSignIn = members || people.length > 0 || hasListed(provider) || password || tokenCount > 0 || linkCount > 0;
  return !canSignIn && !rules.some(({ action }) => action === 'public');
}

/** A provider admits the people and groups that the policy lists, nobody else. */
const hasListed = (provider: DescribedPolicy['provider']): boolean =>
  provider !== null && (provider.people.length > 0 || provider.groups.length > 0);
