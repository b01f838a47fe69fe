// Visitors who arrive at a steady rate, each on a new connection, however long the earlier ones wait: an open loop, in which a pause
// of the server shows as waiting and not as fewer visits.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { Tally } from './load.ts';
import { type Door, getRequest, openVisitor, visit } from './visitor.ts';

const uploadBytes = 65_536;

/** Starts a service that answers each request with `served`, and sends back what a client sends after `Upgrade: echo`. */
export async function startEchoUpstream(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('served'));
  });
  server.on('upgrade', (_, socket) => {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    socket.pipe(socket);
    t.after(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What visitors do, in turn. */
const kinds = ['get', 'get', 'upload', 'get', 'get', 'socket'] as const;

const upgradeRequest = ({ host, port }: Door): string =>
  `GET /socket HTTP/1.1\r\nHost: ${host}:${port}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`;

export interface EchoSocket {
  /** Resolves once these words came back. */
  echo(words: string): Promise<void>;
  close(): void;
}

/** An upgraded connection to an upstream of startEchoUpstream. */
export async function openEcho(door: Door): Promise<EchoSocket> {
  const socket = await openVisitor(door);
  // It may be idle for as long as a test wants.
  socket.setTimeout(0);
  let text = '';
  let look = (): void => {};
  let end: Error | undefined;
  const gone = (error = new Error(`the upgraded connection ended after ${JSON.stringify(text)}`)): void => {
    end ??= error;
    look();
  };
  socket.setEncoding('latin1').on('data', (part: string) => {
    text += part;
    look();
  });
  socket.on('error', gone).on('close', () => gone());
  const seen = (words: string): Promise<void> =>
    new Promise((resolve, reject) => {
      look = () => {
        if (text.includes(words)) resolve();
        else if (end !== undefined) reject(end);
      };
      look();
    });
  socket.write(upgradeRequest(door));
  await seen('101 Switching Protocols');
  return {
    echo: (words) => {
      socket.write(words);
      return seen(words);
    },
    close: () => socket.destroy(),
  };
}

async function visitAs(kind: (typeof kinds)[number], door: Door): Promise<number> {
  if (kind === 'get') return (await visit(door, '/', getRequest(door))).status;
  if (kind === 'upload') {
    const head = `POST /upload HTTP/1.1\r\nHost: ${door.host}:${door.port}\r\nConnection: close\r\nContent-Length: ${uploadBytes}\r\n\r\n`;
    return (await visit(door, '/upload', `${head}${'u'.repeat(uploadBytes)}`)).status;
  }
  const socket = await openEcho(door);
  await socket.echo(randomBytes(8).toString('hex'));
  socket.close();
  return 200;
}

export interface Arrivals {
  stop(): Promise<Tally & { readonly failures: readonly string[] }>;
}

export function startArrivals(t: TestContext, door: Door, perSecond: number): Arrivals {
  const times: number[] = [];
  const statuses: Record<number, number> = {};
  const failures: string[] = [];
  const under = new Set<Promise<void>>();
  const beganAt = performance.now();
  let arrived = 0;
  const arrive = async (kind: (typeof kinds)[number]): Promise<void> => {
    const started = performance.now();
    const status = await visitAs(kind, door).catch(() => 0);
    times.push(performance.now() - started);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status !== 200) failures.push(`${kind} at ${Math.round(started - beganAt)} ms: ${status}`);
  };
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - beganAt) * perSecond) / 1_000);
    for (; arrived < due; arrived += 1) {
      const visiting = arrive(kinds[arrived % kinds.length] ?? 'get').finally(() => under.delete(visiting));
      under.add(visiting);
    }
  }, 5);
  t.after(() => clearInterval(timer));
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(under);
      const sorted = times.sort((a, b) => a - b);
      const p99Ms = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
      return { statuses, visits: sorted.length, slowestMs: sorted.at(-1) ?? 0, p99Ms, failures };
    },
  };
}
