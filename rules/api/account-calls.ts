// The calls about a person's own account: sessions, and terminals that sign in.

import type { Call } from './call.ts';

const session = { who: 'user', needs: 'session' } as const;
const lasting = { ...session, lasting: true } as const;

export const accountCalls = {
  /** Erases the person, and projects with no other member. The caller types `email` again to confirm. */
  deleteAccount: { ...lasting, method: 'DELETE', path: '/api/account', json: 'AccountDeletion' },
  /** Everything that the service holds about the caller, without secrets. POST, because it is logged and asks for a proof. */
  exportAccount: { method: 'POST', path: '/api/account/export', answer: 'AccountExport', who: 'user', needs: 'fresh' },
  /** The caller's address as this server sees it, behind trusted proxies too. */
  getOwnAddress: { method: 'GET', path: '/api/address', answer: 'OwnAddress', who: 'user' },
  listSessions: { ...session, method: 'GET', path: '/api/sessions', answer: 'Session[]' },
  deleteSession: { ...lasting, method: 'DELETE', path: '/api/sessions/:id' },
  /** Ends the caller's other sessions, and the CLI tokens: the sign-ins of terminals. */
  endOtherSignIns: { ...lasting, method: 'POST', path: '/api/account/end-other-sign-ins' },
  listOwnTokens: { ...session, method: 'GET', path: '/api/account/tokens', answer: 'OwnToken[]' },
  deleteOwnToken: { ...lasting, method: 'DELETE', path: '/api/account/tokens/:id' },
  startDevice: { method: 'POST', path: '/auth/device', json: 'DeviceRequest', answer: 'DeviceStart', who: 'anyone' },
  pollDevice: { method: 'POST', path: '/auth/device/token', json: 'DevicePoll', answer: 'DeviceToken', who: 'anyone' },
  getDevice: { ...session, method: 'GET', path: '/api/device/:userCode', answer: 'Device' },
  approveDevice: {
    method: 'POST',
    path: '/api/device/:userCode/approve',
    query: 'InProject',
    json: 'DeviceApproval',
    who: 'device.approve',
    needs: 'fresh',
  },
  denyDevice: { ...session, method: 'POST', path: '/api/device/:userCode/deny' },
} as const satisfies Readonly<Record<string, Call>>;
