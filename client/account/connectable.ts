// A tunnel of the account by its name, and whether a client can carry it.

import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { tcpAddress } from '@underpass/rules/tunnel/tcp-address.ts';
import { parseTunnelName } from '@underpass/rules/tunnel/tunnel-name.ts';
import { isWaitingForVerification } from '@underpass/rules/tunnel/tunnel-status.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { ClientError } from '../process/error.ts';
import type { ProjectAccount } from './account.ts';

export type ConnectableTunnel = Tunnel & { readonly token: string };

export function fetchTunnel({ api, project }: ProjectAccount, given: string): Promise<Tunnel> {
  const parsed = parseTunnelName(given);
  // A text that is no name is sent as typed: the server's error explains it.
  const name = parsed.ok ? parsed.value : given;
  return api.call(tunnelCalls.getTunnel, { project: project.id, name, metrics: '1' });
}

/** The tunnel, if this role may read its token and at least one of its domains is verified. */
export function requireConnectable(tunnel: Tunnel): ConnectableTunnel {
  const { token } = tunnel;
  if (!token) throw new ClientError('token-hidden', tunnel.name);
  if (isWaitingForVerification(tunnel.status)) requireVerified(tunnel);
  return { ...tunnel, token };
}

/** Throws if visitors can reach none of the tunnel's domains. */
export function requireVerified({ name, type, ingressDomains: domains }: Tunnel): void {
  if (tunnelTypes[type].foundBy === 'port' || domains.some(({ verified }) => verified)) return;
  const apex = domains[0]?.apexName;
  const fix = `Run "underpass domains verify ${apex}", then try again.`;
  throw new ClientError('tunnel-waiting', name, apex === undefined ? {} : { fix });
}

/** The addresses that visitors can reach. */
export const verifiedUrls = (tunnel: Tunnel): readonly string[] => [
  ...tunnel.ingressDomains.filter(({ verified }) => verified).map(({ url }) => url),
  ...[tcpAddress(tunnel) ?? []].flat(),
];

/** `Progressing` means: not on every edge yet. `find` asks the server again. */
export function isServed(tunnel: Tunnel, find: () => Promise<Tunnel | undefined>): () => Promise<boolean> {
  let { status } = tunnel;
  return async () => {
    if (status === 'Progressing') status = (await find())?.status ?? status;
    return status !== 'Progressing';
  };
}
