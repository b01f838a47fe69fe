// Where a server listens, and how another process goes on listening on the same socket.

import { once } from 'node:events';
import type { AddressInfo, ListenOptions, Server } from 'node:net';
import { beginNear } from '@underpass/wire/path/tcp-path.ts';

export interface Listen {
  /** All addresses of both families if missing. */
  readonly host?: string | undefined;
  readonly port: number;
  /** A socket that is open already, from the process before this one: used instead of a new one. */
  readonly fd?: number | undefined;
}

/** Resolves once `server` accepts connections. */
export async function listen(server: Server, options: ListenOptions & { readonly fd?: number | undefined }): Promise<void> {
  const { host, fd, ...where } = options;
  if (fd === undefined) server.listen({ ...where, ...(host === undefined ? {} : { host }) });
  else server.listen({ fd }, where.backlog);
  await once(server, 'listening');
  beginNear(server);
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** A listening socket of this process or of a worker. It is open until every process that holds it has closed it. */
export interface SocketHandle {
  readonly fd: number;
  close(): void;
}

/** Null once the server is closed. Node can pass a handle to another process, and takes it wherever it takes a server. */
export const handleOf = (server: Server): SocketHandle | null =>
  (server as unknown as { readonly _handle: SocketHandle | null })._handle;

export interface NamedSocket {
  readonly name: string;
  readonly handle: SocketHandle;
}

/** Names a socket by its use and by the setting that chose its address. */
export const socketKey = (name: string, { host = '', port }: Listen): string => `${name} ${host}:${port}`;
