// The calls about the certificate that a project gives for an ingress domain of an http tunnel.

import type { Call } from './call.ts';

const path = '/api/tunnels/:name/domains/:host/certificate';

export const certificateCalls = {
  getOwnCertificate: { method: 'GET', path, query: 'InProject', answer: 'OwnCertificateState', who: 'tunnel.read' },
  /** Replaces the present one: connections that are open keep it. */
  setOwnCertificate: {
    method: 'POST',
    path,
    query: 'InProject',
    json: 'NewOwnCertificate',
    answer: 'OwnCertificate',
    who: 'tunnel.update',
  },
  changeOwnCertificate: {
    method: 'PATCH',
    path,
    query: 'InProject',
    json: 'OwnCertificateChange',
    answer: 'OwnCertificate',
    who: 'tunnel.update',
  },
  /** The service gets the certificate itself again. */
  deleteOwnCertificate: { method: 'DELETE', path, query: 'InProject', who: 'tunnel.update' },
} as const satisfies Readonly<Record<string, Call>>;
