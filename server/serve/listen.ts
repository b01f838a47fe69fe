// Opens a port, or says in one line why it cannot be opened and which setting chooses it.

import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { type ErrorCode, ServerError } from '../process/error.ts';

const codes: Readonly<Record<string, ErrorCode>> = {
  EADDRINUSE: 'port-in-use',
  EACCES: 'port-refused',
  EADDRNOTAVAIL: 'address-unknown',
};

/** For errors of a port that somebody else opens for us. */
export function portError(error: unknown, settingOf: (port: number | undefined) => string): unknown {
  const { code: errno = '', port, address = '' } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  const code = codes[errno];
  if (code === undefined) return error;
  return new ServerError(code, `${address}:${port ?? ''} (${settingOf(port)})`, { cause: error });
}

export async function listen(server: Server, host: string, port: number, setting: string): Promise<number> {
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (error) {
    throw portError(error, () => setting);
  }
  return (server.address() as AddressInfo).port;
}
