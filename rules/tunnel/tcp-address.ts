// Where visitors of a tcp tunnel connect: the region's host and the tunnel's port.

import { type TunnelType, tunnelTypes } from './tunnel-type.ts';

interface PublicPort {
  readonly dataPlaneHost: string;
  readonly port?: number | undefined;
}

/** `host:port`; null for a tunnel without a public port. */
export const tcpHostPort = ({ dataPlaneHost, port }: PublicPort): string | null =>
  port === undefined ? null : `${dataPlaneHost}:${port}`;

/** Nobody finds such a tunnel: it is reached by `underpass reach`. */
export const isPrivateTunnel = ({ type, port }: Pick<PublicPort, 'port'> & { readonly type: TunnelType }): boolean =>
  tunnelTypes[type].foundBy === 'port' && port === undefined;

/** The same as an address. */
export function tcpAddress(tunnel: PublicPort): string | null {
  const hostPort = tcpHostPort(tunnel);
  return hostPort === null ? null : `tcp://${hostPort}`;
}
