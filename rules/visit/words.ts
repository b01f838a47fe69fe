// Words about visits under an access policy, which the dashboard and the command both show.

import type { AccessLink, AccessSignIn, AccessTest } from './access-policy.ts';

export const outcomeLabels: Readonly<Record<AccessTest['outcome'], string>> = {
  allow: 'Allowed',
  'sign-in': 'Sign-in needed',
  refuse: 'Refused',
};

export const methodLabels: Readonly<Record<AccessSignIn['method'] | 'token', string>> = {
  member: 'Member',
  email: 'Email code',
  oidc: 'Sign-in provider',
  password: 'Password',
  link: 'Share link',
  agent: 'Program',
  token: 'Machine token',
};

/** Who signed in, where the way to sign in names nobody. */
export const unnamedVisitors: Readonly<Partial<Record<AccessSignIn['method'], string>>> = {
  password: 'Somebody with the password',
  link: 'Somebody with a link',
};

/** `3 of 5`, or `3` of a link that may be used without a limit. */
export const usesOf = ({ uses, mostUses }: Pick<AccessLink, 'uses' | 'mostUses'>): string =>
  mostUses === null ? String(uses) : `${uses} of ${mostUses}`;
