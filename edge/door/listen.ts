// Where a server listens.

import { once } from 'node:events';
import type { AddressInfo, ListenOptions, Server } from 'node:net';
import { beginNear } from '@underpass/wire/tcp-path.ts';

export interface Listen {
  /** All addresses of both families if missing. */
  readonly host?: string | undefined;
  readonly port: number;
}

/** Resolves once `server` accepts connections. */
export async function listen(server: Server, { host, ...where }: ListenOptions): Promise<void> {
  server.listen({ ...where, ...(host === undefined ? {} : { host }) });
  await once(server, 'listening');
  beginNear(server);
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
