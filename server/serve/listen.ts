// Opens a port. If that fails, the error says in one line why, and which setting chooses the port.

import type { Server } from 'node:net';
import { type Listen, listen as openPort, portOf } from '@underpass/edge/door/listen.ts';
import { type ErrorCode, ServerError } from '../process/error.ts';

const codes: Readonly<Record<string, ErrorCode>> = {
  EADDRINUSE: 'port-in-use',
  EACCES: 'port-refused',
  EADDRNOTAVAIL: 'address-unknown',
};

/** Translates the error of a port that other code opens. */
export function portError(error: unknown, settingOf: (port: number | undefined) => string): unknown {
  const { code: errno = '', port, address = '' } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  const code = codes[errno];
  if (code === undefined) return error;
  return new ServerError(code, `${address}:${port ?? ''} (${settingOf(port)})`, { cause: error });
}

export async function listen(server: Server, where: Listen, setting: string): Promise<number> {
  try {
    await openPort(server, { ...where });
  } catch (error) {
    throw portError(error, () => setting);
  }
  return portOf(server);
}
