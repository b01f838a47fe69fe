// The calls about a person's own account: sessions, and terminals that sign in.

import type { Call } from './call.ts';

export const accountCalls = {
  /** Erases the person, and projects with no other member. The caller types `email` again to confirm. */
  deleteAccount: { method: 'DELETE', path: '/api/account', json: 'AccountDeletion', who: 'user', session: true },
  listSessions: { method: 'GET', path: '/api/sessions', answer: 'Session[]', who: 'user', session: true },
  deleteSession: { method: 'DELETE', path: '/api/sessions/:id', who: 'user', session: true },
  startDevice: { method: 'POST', path: '/auth/device', json: 'DeviceRequest', answer: 'DeviceStart', who: 'anyone' },
  pollDevice: { method: 'POST', path: '/auth/device/token', json: 'DevicePoll', answer: 'DeviceToken', who: 'anyone' },
  getDevice: { method: 'GET', path: '/api/device/:userCode', answer: 'Device', who: 'user', session: true },
  decideDevice: { method: 'POST', path: '/api/device/:userCode', json: 'DeviceDecision', who: 'user', session: true },
} as const satisfies Readonly<Record<string, Call>>;
