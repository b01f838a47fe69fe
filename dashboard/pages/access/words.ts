// Words that several parts of the access pages show.
import type { AccessSignIn } from '@underpass/rules/visit/access-policy.ts';
import type { PathAction } from '@underpass/rules/visit/path-rule.ts';

export const membersHint = 'They sign in as they do here.';
export const peopleHint =
  'E-mail addresses, or *@example.com for everybody there. They get a code by e-mail. You can paste a list.';
export const peoplePlaceholder = 'ada@example.com';

export const actionLabels: Readonly<Record<PathAction, string>> = { public: 'Public', 'sign-in': 'Sign-in', deny: 'Deny' };

export const methodLabels: Readonly<Record<AccessSignIn['method'] | 'token', string>> = {
  member: 'Member',
  email: 'E-mail code',
  oidc: 'Sign-in provider',
  password: 'Password',
  link: 'Share link',
  agent: 'Program',
  token: 'Machine token',
};
