// The calls about tunnels, and the regions that they live in.

import type { Call } from './call.ts';

const read = { method: 'GET', query: 'InProject', who: 'tunnel.read' } as const;

export const tunnelCalls = {
  listTunnels: { ...read, path: '/api/tunnels', query: 'TunnelListQuery', answer: 'Tunnel[]', paged: true },
  getTunnel: { ...read, path: '/api/tunnels/:name', query: 'TunnelQuery', answer: 'Tunnel' },
  createTunnel: {
    method: 'POST',
    path: '/api/tunnels',
    query: 'InProject',
    json: 'NewTunnel',
    answer: 'Tunnel',
    who: 'tunnel.create',
  },
  updateTunnel: {
    method: 'PATCH',
    path: '/api/tunnels/:name',
    query: 'InProject',
    json: 'TunnelChange',
    answer: 'Tunnel',
    who: 'tunnel.update',
    ifMatch: true,
  },
  deleteTunnel: { method: 'DELETE', path: '/api/tunnels/:name', query: 'DeletionQuery', who: 'tunnel.delete' },
  /** The caller's quick tunnel for a folder: made, or the one that exists, with a new lease. */
  startQuickTunnel: {
    method: 'POST',
    path: '/api/quick-tunnels',
    query: 'InProject',
    json: 'QuickTunnel',
    answer: 'Tunnel',
    who: 'tunnel.create',
  },
  /** Removes the expiry of a quick tunnel: it is an ordinary tunnel from then on. */
  keepTunnel: { method: 'POST', path: '/api/tunnels/:name/keep', query: 'InProject', answer: 'Tunnel', who: 'tunnel.update' },
  /** The old token keeps working for a while, unless `overlap=0` ends it at once. */
  rotateToken: {
    method: 'POST',
    path: '/api/tunnels/:name/token/rotate',
    query: 'RotationQuery',
    answer: 'Tunnel',
    who: 'tunnel.rotate-token',
  },
  listClients: { ...read, path: '/api/tunnels/:name/clients', answer: 'ConnectedClient[]' },
  /** Looks up the addresses of its ingress domains. */
  checkTunnelDomains: {
    ...read,
    path: '/api/tunnels/:name/domains',
    query: 'DomainsQuery',
    answer: 'TunnelDomains',
    compress: true,
  },
  /** When a client was last connected, and what last kept one from working. */
  getLastClient: { ...read, path: '/api/tunnels/:name/last-client', answer: 'LastClient' },
  getHistory: { ...read, path: '/api/tunnels/:name/history', query: 'HistoryQuery', answer: 'TunnelHistory', compress: true },
  /** The last day of the visitor log, the newest first. */
  listVisitorLog: {
    method: 'GET',
    path: '/api/tunnels/:name/visitor-log',
    query: 'VisitorLogQuery',
    answer: 'VisitorLogPage',
    who: 'visitor-log.read',
    compress: true,
  },
  /** What a member reaches a private tunnel with, for some minutes. */
  reachTunnel: {
    method: 'POST',
    path: '/api/tunnels/:name/reach',
    query: 'InProject',
    answer: 'ReachPass',
    who: 'tunnel.reach',
  },
  listReachTickets: {
    method: 'GET',
    path: '/api/tunnels/:name/tickets',
    query: 'InProject',
    answer: 'ReachTicket[]',
    who: 'tunnel.read',
  },
  createReachTicket: {
    method: 'POST',
    path: '/api/tunnels/:name/tickets',
    query: 'InProject',
    json: 'ReachTicketRequest',
    answer: 'NewReachTicket',
    who: 'tunnel.update',
    lasting: true,
  },
  deleteReachTicket: { method: 'DELETE', path: '/api/tunnels/:name/tickets/:id', query: 'InProject', who: 'tunnel.update' },
  streamEvents: { ...read, path: '/api/events', query: 'EventsQuery', answer: 'text/event-stream' },
  listRegions: { method: 'GET', path: '/api/regions', answer: 'Region[]', who: 'user' },
} as const satisfies Readonly<Record<string, Call>>;
