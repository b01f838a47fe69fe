// The calls about the certificate that a project gives for an ingress domain of an http tunnel.

import type { Call } from './call.ts';

const path = '/api/tunnels/:name/domains/:host/certificate';

const update = { path, query: 'InProject', who: 'tunnel.update' } as const;

export const certificateCalls = {
  getOwnCertificate: { method: 'GET', path, query: 'InProject', answer: 'OwnCertificateState', who: 'tunnel.read' },
  /** Replaces the present one: connections that are open keep it. */
  setOwnCertificate: { ...update, method: 'POST', json: 'NewOwnCertificate', answer: 'OwnCertificate' },
  changeOwnCertificate: { ...update, method: 'PATCH', json: 'OwnCertificateChange', answer: 'OwnCertificate' },
  /** The service gets the certificate itself again. */
  deleteOwnCertificate: { ...update, method: 'DELETE' },
} as const satisfies Readonly<Record<string, Call>>;
