// Opens a port, or says in one line why it cannot be opened and which setting chooses it.

import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { ServerError } from './error.ts';

/** For errors of a port that somebody else opens for us. */
export function portError(error: unknown, setting: string): unknown {
  const { code, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  const place = `${address ?? ''}:${port ?? ''} (${setting})`;
  if (code === 'EADDRINUSE') return new ServerError('port-in-use', `${place} is used by another program`, { cause: error });
  if (code === 'EACCES') return new ServerError('port-refused', place, { cause: error });
  if (code === 'EADDRNOTAVAIL')
    return new ServerError('port-refused', `${place}: this machine has no such address`, { cause: error });
  return error;
}

export async function listen(server: Server, host: string, port: number, setting: string): Promise<number> {
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (error) {
    throw portError(error, setting);
  }
  return (server.address() as AddressInfo).port;
}
