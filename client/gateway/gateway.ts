// The gateway of `underpass ssh serve` and of private tunnels: ends TLS for visitors, reads the name of the host that they want
// (CONNECT), asks who may reach it, and joins the two. It listens on loopback, because a TLS server needs real sockets; only
// connections that this process dialled for a visitor get an answer there.
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { addressKey, inBrackets } from '@underpass/rules/address/address.ts';
import { formatUpstream, type Upstream } from '@underpass/rules/tunnel/upstream.ts';
import { parseHead } from '@underpass/wire/core/head.ts';
import type { OpenRequest } from '@underpass/wire/core/open.ts';
import { readHead } from '@underpass/wire/handshake.ts';
import type { CarryGateway } from '../carry/api.ts';
import { connected } from '../carry/socket.ts';
import { openSocket } from '../carry/upstream-socket.ts';
import type { LogEvent } from '../terminal/log-line.ts';
import type { Identity } from './identity.ts';
import { bothEnds, join } from './join.ts';

interface GatewayHost {
  readonly name: string;
  readonly upstream: Upstream;
}

export interface GatewayOptions {
  /** Begins the names of events in the log. */
  readonly kind: 'ssh' | 'reach';
  /** The host of a name, or null: this visitor gets none by it. The name is whatever the visitor sent, and may be a secret. */
  readonly find: (name: string, visitorAddress: string) => GatewayHost | null;
  /** Writes the PROXY header of the tunnel to the host. */
  readonly passesPreface?: boolean;
  readonly identity: Identity;
  readonly now: () => number;
  readonly report: (event: Omit<LogEvent, 'tunnel'>) => void;
  /** Tests pass their own. */
  readonly limits?: Partial<typeof gatewayLimits>;
}

export const gatewayLimits = {
  /** Time from the connection to a host that answers: TLS, the CONNECT and the dial. The dial alone may take 10 s. */
  waitMs: 25_000,
  headMs: 10_000,
  /** Visitors without a host yet. Each costs a TLS handshake and some 50 KB. */
  waiting: 256,
  /** Waiting visitors from one address, or one IPv6 /64: a tool that copies to many hosts opens a dozen at once. */
  waitingPerAddress: 32,
  /** Refusals and failures are logged at most this often. */
  logEveryMs: 1_000,
};

interface Visitor {
  readonly address: string;
  readonly place: string;
  readonly preface: Uint8Array;
  /** Ends the wait of a visitor without a host. */
  readonly settle: () => void;
}

const loopback = '127.0.0.1';
const noPreface = new Uint8Array(0);

export async function startGateway(options: GatewayOptions): Promise<CarryGateway> {
  const limits = { ...gatewayLimits, ...options.limits };
  /** Visitors by the port from which this process dials the gateway. */
  const visitors = new Map<number, Visitor>();
  const waiting = createWaitingRoom(limits);
  const log = limitLog(options, limits.logEveryMs);
  const { keyPem, certificatePem } = options.identity;
  const server = createServer(
    { key: keyPem, cert: certificatePem, minVersion: 'TLSv1.3', ALPNProtocols: ['http/1.1'], allowHalfOpen: true, noDelay: true },
    (socket) => {
      // Another program may dial from another loopback address, by a port that is in use here.
      const visitor = socket.remoteAddress === loopback ? visitors.get(socket.remotePort ?? 0) : undefined;
      socket.on('error', () => socket.destroy());
      if (visitor === undefined) return void socket.destroy();
      void serveVisitor(socket, visitor, { ...options, log }, limits.headMs).catch(() => socket.destroy());
    },
  );
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.listen(0, loopback);
  await once(server, 'listening');

  function onDialled({ visitorAddress, visitorPort, preface }: OpenRequest, socket: Socket): void {
    const leave = waiting.enter(addressKey(visitorAddress));
    if (leave === null) return void socket.destroy();
    const port = socket.localPort ?? 0;
    const timer = setTimeout(() => socket.destroy(), limits.waitMs);
    const settle = (): void => {
      clearTimeout(timer);
      leave();
    };
    const place = placeOf(visitorAddress, visitorPort);
    visitors.set(port, { address: visitorAddress, place, preface: options.passesPreface ? preface : noPreface, settle });
    socket.once('close', () => {
      settle();
      visitors.delete(port);
    });
  }

  const { port } = server.address() as AddressInfo;
  return { upstream: { scheme: 'tcp', host: loopback, port }, onDialled, close: () => void server.close() };
}

/** Counts visitors that have no host yet, in total and by source. */
function createWaitingRoom({ waiting, waitingPerAddress }: typeof gatewayLimits) {
  const bySource = new Map<string, number>();
  let total = 0;
  return {
    /** Returns the function that leaves; null if the room is full. */
    enter(source: string): (() => void) | null {
      const here = bySource.get(source) ?? 0;
      if (total >= waiting || here >= waitingPerAddress) return null;
      total++;
      bySource.set(source, here + 1);
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        total--;
        const rest = (bySource.get(source) ?? 1) - 1;
        if (rest === 0) bySource.delete(source);
        else bySource.set(source, rest);
      };
    },
  };
}

type Log = (what: 'opened' | 'refused' | 'failed', fields: Omit<LogEvent, 'tunnel' | 'event'>) => void;

/** Strangers can cause refusals and failures without end; they cannot fill the log. */
function limitLog({ kind, report, now }: GatewayOptions, everyMs: number): Log {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (what, fields) => {
    if (what !== 'opened' && now() - lastMs < everyMs) return;
    if (what !== 'opened') lastMs = now();
    report({ event: `${kind}-${what}`, ...fields });
  };
}

const placeOf = (address: string, port: number): string => `${inBrackets(address)}:${port}`;

async function serveVisitor(
  socket: TLSSocket,
  { address, place, preface, settle }: Visitor,
  { kind, find, log }: GatewayOptions & { readonly log: Log },
  headMs: number,
): Promise<void> {
  const name = parseConnect(await readHead(socket, headMs));
  if (name === null) return answer(socket, '400 Bad Request');
  const host = find(name, address);
  if (host === null) {
    log('refused', { visitor: place, ...(kind === 'ssh' ? { host: name } : {}) });
    return answer(socket, '403 Forbidden');
  }
  const named = { visitor: place, host: host.name, upstream: formatUpstream(host.upstream) };
  const upstream = await dialHost(host, socket).catch((error: NodeJS.ErrnoException) => {
    log('failed', { ...named, text: error.message });
    return null;
  });
  if (upstream === null) return answer(socket, '502 Bad Gateway');
  settle();
  // sshd sees this machine as the visitor: `from` is what its own log shows. A Unix socket has no address.
  const { localAddress, localPort = 0 } = upstream;
  log('opened', { ...named, ...(localAddress === undefined ? {} : { from: placeOf(localAddress, localPort) }) });
  socket.write('HTTP/1.1 200 OK\r\n\r\n');
  if (preface.length > 0) upstream.write(preface);
  join(bothEnds(socket), bothEnds(upstream));
}

/** A name is one label; the port is not used, because the name decides it. */
function parseConnect(head: string): string | null {
  const [method, target, version] = parseHead(head)?.start ?? [];
  if (method !== 'CONNECT' || version !== 'HTTP/1.1') return null;
  return /^([A-Za-z0-9-]{1,63}):[0-9]{1,5}$/.exec(target ?? '')?.[1] ?? null;
}

/** Says nothing about the hosts behind the gateway. */
function answer(socket: TLSSocket, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`, () => socket.destroy());
}

/** Hosts are of scheme tcp: nothing here speaks TLS with them. */
const noTrust = { caPem: undefined, insecure: false };

async function dialHost({ upstream }: GatewayHost, visitor: Socket): Promise<Socket> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  visitor.once('close', leave);
  const socket = openSocket(upstream, noTrust, noPreface).setKeepAlive(true, 30_000);
  const place = formatUpstream(upstream);
  await connected(socket, 'connect', gone.signal, (error) => new Error(`${place} (${error?.code ?? 'no answer in time'})`));
  visitor.off('close', leave);
  return socket;
}
