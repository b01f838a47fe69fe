// A simple load balancer in front of the edges of a region: it sends each connection to the backend with the fewest
// connections, or to the next one that accepts, and resets the connection if none accepts.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface Balancer {
  readonly port: number;
  /** Ports of the backends on 127.0.0.1, or their addresses with a port; tests may change the list at any time. */
  backends: readonly (number | string)[];
  /** Resets all open connections. To refuse new ones too, empty `backends` first. */
  cut(): void;
}

export async function startBalancer(t: TestContext, { host = '127.0.0.1', port = 0 } = {}): Promise<Balancer> {
  const sockets = new Set<Socket>();
  const open = new Map<number | string, number>();
  const count = (backend: number | string, by: number): void => void open.set(backend, (open.get(backend) ?? 0) + by);
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => {});
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, async (front) => {
    keep(front);
    const backends = balancer.backends.toSorted((a, b) => (open.get(a) ?? 0) - (open.get(b) ?? 0));
    const [backend, back] = await dialFirst(backends);
    if (back === null) return void front.resetAndDestroy();
    keep(back);
    count(backend, 1);
    back.once('close', () => count(backend, -1));
    join(front, back);
    join(back, front);
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const balancer: Balancer = {
    port: (server.address() as AddressInfo).port,
    backends: [],
    cut: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
  };
  return balancer;
}

/** Passes bytes, ends and resets on in one direction. */
function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.once('close', () => (from.errored || !from.readableEnded) && to.resetAndDestroy());
}

async function dialFirst(
  backends: readonly (number | string)[],
): Promise<readonly [backend: number | string, socket: Socket | null]> {
  for (const backend of backends) {
    const socket = await dial(backend);
    if (socket !== null) return [backend, socket];
  }
  return ['', null];
}

function dial(backend: number | string): Promise<Socket | null> {
  const { hostname, port } = new URL(`tcp://${typeof backend === 'number' ? `127.0.0.1:${backend}` : backend}`);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true }, () => resolve(socket));
    socket.once('error', () => resolve(null));
  });
}
