// The calls about a person's own account: sessions, and terminals that sign in.

import type { Call } from './call.ts';

export const accountCalls = {
  /** Erases the person, and projects with no other member. The caller types `email` again to confirm. */
  deleteAccount: {
    method: 'DELETE',
    path: '/api/account',
    json: 'AccountDeletion',
    who: 'user',
    needs: 'session',
    lasting: true,
  },
  /** Everything that the service holds about the caller, without secrets. POST, because it is logged and asks for a proof. */
  exportAccount: { method: 'POST', path: '/api/account/export', answer: 'AccountExport', who: 'user', needs: 'fresh' },
  /** The caller's address as this server sees it, behind trusted proxies too. */
  getOwnAddress: { method: 'GET', path: '/api/address', answer: 'OwnAddress', who: 'user' },
  listSessions: { method: 'GET', path: '/api/sessions', answer: 'Session[]', who: 'user', needs: 'session' },
  deleteSession: { method: 'DELETE', path: '/api/sessions/:id', who: 'user', needs: 'session', lasting: true },
  /** Ends the caller's other sessions, and the CLI tokens: the sign-ins of terminals. */
  endOtherSignIns: { method: 'POST', path: '/api/account/end-other-sign-ins', who: 'user', needs: 'session', lasting: true },
  listOwnTokens: { method: 'GET', path: '/api/account/tokens', answer: 'OwnToken[]', who: 'user', needs: 'session' },
  deleteOwnToken: { method: 'DELETE', path: '/api/account/tokens/:id', who: 'user', needs: 'session', lasting: true },
  startDevice: { method: 'POST', path: '/auth/device', json: 'DeviceRequest', answer: 'DeviceStart', who: 'anyone' },
  pollDevice: { method: 'POST', path: '/auth/device/token', json: 'DevicePoll', answer: 'DeviceToken', who: 'anyone' },
  getDevice: { method: 'GET', path: '/api/device/:userCode', answer: 'Device', who: 'user', needs: 'session' },
  approveDevice: {
    method: 'POST',
    path: '/api/device/:userCode/approve',
    query: 'InProject',
    json: 'DeviceApproval',
    who: 'device.approve',
    needs: 'fresh',
  },
  denyDevice: { method: 'POST', path: '/api/device/:userCode/deny', who: 'user', needs: 'session' },
} as const satisfies Readonly<Record<string, Call>>;
