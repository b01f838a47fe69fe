// The calls that sign in and out, and say who is signed in.

import type { Call } from './call.ts';

export const sessionCalls = {
  getUser: { method: 'GET', path: '/api/user', answer: 'User', who: 'user' },
  listProjects: { method: 'GET', path: '/api/projects', answer: 'Project[]', who: 'user' },
  redeemLoginLink: { method: 'POST', path: '/auth/login', form: 'LoginToken', who: 'anyone' },
  /**
   * Whether the link still works, and whether the browser that holds it is the one that asked for it: any other browser asks
   * before it redeems a link that works. Consumes nothing.
   */
  checkLoginLink: { method: 'POST', path: '/auth/link', form: 'LoginToken', answer: 'LoginLinkCheck', who: 'anyone' },
  logOut: { method: 'GET', path: '/auth/logout', seeOther: true, who: 'anyone' },
  /** Ends the session, or the CLI token that the caller uses. */
  logOutByPost: { method: 'POST', path: '/auth/logout', seeOther: true, who: 'anyone' },
  requestLoginLink: {
    method: 'POST',
    path: '/auth/magiclink',
    query: 'LoginLinkQuery',
    multipart: 'LoginLinkRequest',
    who: 'anyone',
  },
  /** Mails a link that proves, in this session, who the caller is. */
  requestProof: { method: 'POST', path: '/api/proof', who: 'user', needs: 'session' },
  /** Takes the link's token, in the session that asked for it: calls that need a recent proof are then open for a while. */
  redeemProof: { method: 'POST', path: '/api/proof/redeem', json: 'LoginToken', who: 'user', needs: 'session' },
  register: { method: 'POST', path: '/auth/register', multipart: 'RegistrationForm', who: 'anyone' },
} as const satisfies Readonly<Record<string, Call>>;
