// `underpass reach` as a local port: each connection to it becomes one to the service behind the private tunnel.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { inBrackets } from '@underpass/rules/address/address.ts';
import { bothEnds, join } from '../gateway/join.ts';
import { ClientError, listenReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';

/** Each waits for up to four answers of the region, and then holds four sockets. */
const mostConnections = 512;
/** Failures are reported at most this often. */
const reportEveryMs = 1_000;

export interface LocalPort {
  readonly host: string;
  readonly port: number;
}

interface ListenHooks {
  readonly open: (signal: AbortSignal) => Promise<TLSSocket>;
  readonly onListening: (address: string) => void;
  readonly onFailed: (error: ClientError) => void;
}

/** Listens until a signal. Open connections end then. */
export async function listenForReach(io: Io, { host, port }: LocalPort, hooks: ListenHooks): Promise<void> {
  const leaving = new AbortController();
  const sockets = new Set<Socket>();
  const onFailed = reportSome(hooks.onFailed, io.now);
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket));
    void connect(socket, hooks.open, leaving.signal, onFailed);
  });
  server.maxConnections = mostConnections;
  server.on('drop', () =>
    onFailed(
      new ClientError('reach-unreachable', `${mostConnections} connections are open, the most of one command`, {
        fix: 'Close some, or run the command once more for another port.',
      }),
    ),
  );
  const stopped = new Promise<void>((resolve) => leaving.signal.addEventListener('abort', () => resolve()));
  const leave = (): void => leaving.abort();
  const off = [io.onSignal('SIGINT', leave), io.onSignal('SIGTERM', leave), io.onSignal('SIGHUP', leave)];
  try {
    hooks.onListening(await startListening(server, host, port));
    await stopped;
  } finally {
    for (const forget of off) forget();
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}

async function startListening(server: Server, host: string, port: number): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening').catch((cause) => {
    throw new ClientError('port-in-use', `${host}:${port} (${listenReason(cause)})`, {
      fix: 'Choose another address with --listen.',
      cause,
    });
  });
  const { address, port: given } = server.address() as AddressInfo;
  return `${inBrackets(address)}:${given}`;
}

function reportSome(report: ListenHooks['onFailed'], now: () => number): ListenHooks['onFailed'] {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (now() - lastMs < reportEveryMs) return;
    lastMs = now();
    report(error);
  };
}

async function connect(
  socket: Socket,
  open: ListenHooks['open'],
  signal: AbortSignal,
  onFailed: ListenHooks['onFailed'],
): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  try {
    const service = await open(AbortSignal.any([signal, gone.signal]));
    join(bothEnds(socket), bothEnds(service));
  } catch (error) {
    socket.resetAndDestroy();
    if (gone.signal.aborted || signal.aborted) return;
    onFailed(error instanceof ClientError ? error : new ClientError('reach-unreachable', String(error), { cause: error }));
  }
}
