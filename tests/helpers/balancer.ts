// A simple load balancer in front of the edges of a region: it sends each connection to the backend with the fewest
// connections, or to the next one that accepts, and resets the connection if none accepts.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface Balancer {
  readonly port: number;
  /** Ports of the backends on 127.0.0.1; tests may change the list at any time. */
  backends: readonly number[];
  /** Resets all open connections. To refuse new ones too, empty `backends` first. */
  cut(): void;
}

export async function startBalancer(t: TestContext): Promise<Balancer> {
  const sockets = new Set<Socket>();
  const open = new Map<number, number>();
  const count = (port: number, by: number): void => void open.set(port, (open.get(port) ?? 0) + by);
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => {});
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, async (front) => {
    keep(front);
    const ports = balancer.backends.toSorted((a, b) => (open.get(a) ?? 0) - (open.get(b) ?? 0));
    const back = await dialFirst(ports);
    if (back === null) return void front.resetAndDestroy();
    keep(back);
    const port = back.remotePort ?? 0;
    count(port, 1);
    back.once('close', () => count(port, -1));
    join(front, back);
    join(back, front);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
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

async function dialFirst(ports: readonly number[]): Promise<Socket | null> {
  for (const port of ports) {
    const socket = await dial(port);
    if (socket !== null) return socket;
  }
  return null;
}

const dial = (port: number): Promise<Socket | null> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true }, () => resolve(socket));
    socket.once('error', () => resolve(null));
  });
