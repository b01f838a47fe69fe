// Tunnels with their defaults, and the time of the request for each.
import type { InputOf } from '@underpass/rules/api/call.ts';
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { Overview } from '@underpass/rules/entity/resource.ts';
import type { ListPage } from '@underpass/rules/list/list-page.ts';
import { callApi, callPage } from './request.ts';

/** performance.now() at the request for a tunnel. The tunnel may lack changes made after that. */
export const askedAt = new WeakMap<object, number>();

/** Polls: nobody waits for the answer. */
export async function listTunnels(project: string, signal: AbortSignal): Promise<readonly Tunnel[]> {
  const at = performance.now();
  const tunnels = await callApi(tunnelCalls.listTunnels, { project }, { signal, background: true });
  for (const tunnel of tunnels) askedAt.set(tunnel, at);
  return tunnels;
}

/** How a project stands, with the time of the request for each of its tunnels. */
export async function getOverview(project: string, signal: AbortSignal): Promise<Overview> {
  const at = performance.now();
  const overview = await callApi(projectCalls.getOverview, { project }, { signal });
  for (const tunnel of overview.shown) askedAt.set(tunnel, at);
  return overview;
}

type Asked = Omit<InputOf<typeof tunnelCalls.listTunnels>, 'project'>;

export async function listTunnelPage(project: string, asked: Asked, signal: AbortSignal): Promise<ListPage<Tunnel>> {
  const at = performance.now();
  const page = await callPage(tunnelCalls.listTunnels, { project, ...asked }, { signal });
  for (const tunnel of page.rows) askedAt.set(tunnel, at);
  return page;
}

export async function getTunnel(project: string, name: string, signal: AbortSignal): Promise<Tunnel> {
  const at = performance.now();
  const tunnel = await callApi(tunnelCalls.getTunnel, { project, name, metrics: '1' }, { signal });
  // spec 7: ingressDomains defaults to an empty list. spec 4: a Pending tunnel without a count has none connected.
  const ingressDomains = tunnel.ingressDomains ?? [];
  const isPending = tunnel.status === 'Pending';
  const whole = { ...tunnel, ingressDomains, ...(isPending ? { connectedClients: tunnel.connectedClients ?? 0 } : {}) };
  askedAt.set(whole, at);
  return whole;
}
