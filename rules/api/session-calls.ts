// The calls that sign in and out, and tell who is signed in.

import type { Call } from './call.ts';

export const sessionCalls = {
  getUser: { method: 'GET', path: '/api/user', answer: 'User', who: 'user' },
  listProjects: { method: 'GET', path: '/api/projects', answer: 'Project[]', who: 'user' },
  redeemLoginLink: { method: 'POST', path: '/auth/login', form: 'LoginToken', who: 'anyone' },
  /**
   * Whether the browser that holds the link is the one that asked for it: only then does the page redeem it by itself.
   * Consumes nothing, and says nothing about a link that another browser asked for.
   */
  checkLoginLink: { method: 'POST', path: '/auth/link', form: 'LoginToken', answer: 'LoginLinkCheck', who: 'anyone' },
  logOut: { method: 'GET', path: '/auth/logout', seeOther: true, who: 'anyone' },
  logOutByPost: { method: 'POST', path: '/auth/logout', seeOther: true, who: 'anyone' },
  requestLoginLink: { method: 'POST', path: '/auth/magiclink', multipart: 'LoginLinkRequest', who: 'anyone' },
  register: { method: 'POST', path: '/auth/register', multipart: 'RegistrationForm', who: 'anyone' },
} as const satisfies Readonly<Record<string, Call>>;
