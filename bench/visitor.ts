// What the visitor programs share: their arguments, and how a visitor opens connections. argv: workload, JSON of Target.
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import {
  type ConnectionOptions,
  connect as connectTls,
  createSecureContext,
  type SecureContextOptions,
  type TLSSocket,
} from 'node:tls';

export interface Target {
  readonly host: string;
  readonly address: string;
  readonly port: number;
  readonly tls: boolean;
  readonly connections: number;
  readonly seconds: number;
  readonly bytes: number;
  /** One Cookie value a line; visitors take them in turn. */
  readonly cookieFile?: string;
  /** All streams on one connection. Only visitors of a long path know it. */
  readonly http2?: boolean;
}

export type Result = Record<string, number>;

const [name = '', json = '{}'] = process.argv.slice(2);
export const target = JSON.parse(json) as Target;
// Peers present self-signed certificates made for this run; their identity is not what is measured.
const unchecked: SecureContextOptions & { rejectUnauthorized: boolean } = { rejectUnauthorized: false };
const context = createSecureContext(unchecked);

const door = { host: target.address, port: target.port, noDelay: true };
export const openTls = (protocol: string, more: ConnectionOptions = {}): TLSSocket =>
  connectTls({
    ...door,
    servername: target.host,
    secureContext: context,
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
    ...more,
  });

export function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = target.tls ? openTls('http/1.1') : connectTcp(door);
    socket.once(target.tls ? 'secureConnect' : 'connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** The window that browsers give a stream. */
const windowBytes = 6 * 1024 * 1024;

export async function openHttp2(): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://${target.host}:${target.port}`, {
    createConnection: () => openTls('h2'),
    settings: { initialWindowSize: windowBytes },
  });
  await once(session, 'connect');
  session.setLocalWindowSize(windowBytes * target.connections);
  return session;
}

/** Calls back once per whole response, until the returned function is called. Bodies are short: head and body are awaited together. */
export function onResponses(socket: Socket, done: (bytes: number) => void): () => void {
  let pending: Buffer = Buffer.alloc(0);
  let headEnd = -1;
  let total = 0;
  const take = (chunk: Buffer): void => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (true) {
      if (headEnd < 0) {
        headEnd = pending.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        total = headEnd + 4 + contentLength(pending.toString('latin1', 0, headEnd));
      }
      if (pending.length < total) return;
      const bytes = total;
      pending = pending.subarray(total);
      headEnd = -1;
      done(bytes);
      if (pending.length === 0) return;
    }
  };
  socket.on('data', take);
  return () => void socket.off('data', take);
}

function contentLength(head: string): number {
  if (!/^HTTP\/1\.1 [12]/.test(head)) throw new Error(`unexpected answer: ${head.slice(0, 60)}`);
  return Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
}

/** Runs the workload that argv names, and prints its result. */
export async function visit(workloads: Record<string, () => Promise<Result>>): Promise<never> {
  const run = workloads[name];
  if (run === undefined) throw new Error(`unknown workload '${name}': ${Object.keys(workloads).join(', ')}`);
  process.stdout.write(`${JSON.stringify(await run())}\n`);
  process.exit(0);
}
