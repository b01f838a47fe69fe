// A TCP relay that records the first bytes of each connection: what a client really sends to its upstream.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface Tap {
  readonly port: number;
  /** The first chunk of each connection. */
  readonly firsts: readonly Buffer[];
}

export async function startTap(t: TestContext, port: number): Promise<Tap> {
  const firsts: Buffer[] = [];
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (from) => {
    const to = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    from.once('data', (chunk: Buffer) => firsts.push(chunk));
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy()).once('close', () => open.delete(one));
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, firsts };
}
