// Words that several parts of the access pages show.
import type { AccessSignIn } from '@underpass/rules/visit/access-policy.ts';
import type { PathAction } from '@underpass/rules/visit/path-rule.ts';

export const membersHint = 'They sign in with their account here.';
export const peopleHint =
  'Email addresses, or *@example.com for everyone at example.com. They get a code by email. You can paste a list.';
export const peoplePlaceholder = 'ada@example.com';

export const actionLabels: Readonly<Record<PathAction, string>> = { public: 'Public', 'sign-in': 'Sign-in', deny: 'Deny' };

export const methodLabels: Readonly<Record<AccessSignIn['method'] | 'token', string>> = {
  member: 'Member',
  email: 'Email code',
  oidc: 'Sign-in provider',
  password: 'Password',
  link: 'Share link',
  agent: 'Program',
  token: 'Machine token',
};
