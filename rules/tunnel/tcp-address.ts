// Where visitors of a tcp tunnel connect: the region's host and the tunnel's port.

interface PublicPort {
  readonly dataPlaneHost: string;
  readonly port?: number | undefined;
}

/** `host:port`; null for a tunnel without a public port. */
export const tcpHostPort = ({ dataPlaneHost, port }: PublicPort): string | null =>
  port === undefined ? null : `${dataPlaneHost}:${port}`;

/** The same as an address. */
export function tcpAddress(tunnel: PublicPort): string | null {
  const hostPort = tcpHostPort(tunnel);
  return hostPort === null ? null : `tcp://${hostPort}`;
}
