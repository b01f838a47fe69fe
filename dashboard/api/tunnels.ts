// The calls about tunnels, regions and DNS look-ups (spec 7, and the live and history calls beyond it).
import type { DnsLookup, ProxyProtocol, Region, Tunnel, TunnelType } from '@underpass/rules/entity.ts';
import type { ConnectedClient, HistoryRange, TunnelHistory } from '@underpass/rules/resource.ts';
import { request, segment } from './request.ts';

export interface NewTunnel {
  readonly name: string;
  readonly region: string;
  /** Empty: control generates a name under the region's wildcard domain. */
  readonly ingressDomains: readonly string[];
  readonly proxyProtocol: ProxyProtocol;
  readonly type: TunnelType;
}

export interface TunnelChange {
  readonly ingressDomains: readonly string[];
  readonly proxyProtocol: ProxyProtocol;
  readonly securityGroup: string;
}

const tunnelPath = (name: string) => `/api/tunnels/${segment(name)}`;

/** performance.now() of the question that brought a tunnel: it may lack what happened since. */
export const askedAt = new WeakMap<Tunnel, number>();

export async function listTunnels(project: string, signal?: AbortSignal, background = false): Promise<Tunnel[]> {
  const at = performance.now();
  const tunnels = await request<Tunnel[]>('GET', '/api/tunnels', { query: { project }, signal, background });
  for (const tunnel of tunnels) askedAt.set(tunnel, at);
  return tunnels;
}

export async function getTunnel(project: string, name: string, signal?: AbortSignal): Promise<Tunnel> {
  const at = performance.now();
  const tunnel = await request<Tunnel>('GET', tunnelPath(name), { query: { project, metrics: '1' }, signal });
  // spec 7: ingressDomains defaults to an empty list. spec 4: a Pending tunnel without a count has none connected.
  const ingressDomains = tunnel.ingressDomains ?? [];
  const isPending = tunnel.status === 'Pending';
  const whole = { ...tunnel, ingressDomains, ...(isPending ? { connectedClients: tunnel.connectedClients ?? 0 } : {}) };
  askedAt.set(whole, at);
  return whole;
}

export const createTunnel = (project: string, tunnel: NewTunnel) =>
  request<Tunnel>('POST', '/api/tunnels', { query: { project }, json: tunnel });

export const updateTunnel = (project: string, { name, updatedAt }: Tunnel, change: TunnelChange) =>
  request<Tunnel>('PATCH', tunnelPath(name), { query: { project }, json: change, basedOn: updatedAt });

export const deleteTunnel = (project: string, name: string) => request<void>('DELETE', tunnelPath(name), { query: { project } });

/** With an overlap the old token works on for a while. */
export const rotateTunnelToken = (project: string, name: string, { overlap }: { readonly overlap: boolean }) =>
  request<Tunnel>('POST', `${tunnelPath(name)}/token/rotate`, { query: { project, overlap: overlap ? undefined : '0' } });

export const listClients = (project: string, name: string, signal?: AbortSignal) =>
  request<ConnectedClient[]>('GET', `${tunnelPath(name)}/clients`, { query: { project }, signal });

/** Asked for every minute beside a form that may be open. */
export const getHistory = (project: string, name: string, range: HistoryRange, signal?: AbortSignal) =>
  request<TunnelHistory>('GET', `${tunnelPath(name)}/history`, { query: { project, range }, signal, background: true });

export const listRegions = (signal?: AbortSignal) => request<Region[]>('GET', '/api/regions', { signal });

export const lookUp = (host: string, signal?: AbortSignal) =>
  request<DnsLookup>('GET', '/api/dns/lookup', { query: { host }, signal });
