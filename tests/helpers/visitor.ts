// A visitor of a public name that writes HTTP/1.1 over TLS itself, so that a test can send what no library would.
import { readdir } from 'node:fs/promises';
import { connect, type TLSSocket } from 'node:tls';

export interface Door {
  readonly port: number;
  /** Server name of the handshake. */
  readonly host: string;
  readonly caPem: string;
}

const answerTimeoutMs = 60_000;

export function openVisitor({ port, host, caPem }: Door): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, servername: host, ca: caPem, ALPNProtocols: ['http/1.1'] }, () =>
      resolve(socket),
    );
    socket.setTimeout(answerTimeoutMs, () => socket.destroy(new Error('the edge was silent')));
    socket.once('error', reject);
  });
}

/** Sends the text unchanged and returns everything that the edge sends until it ends the connection. */
export async function say(door: Door, text: string): Promise<string> {
  const socket = await openVisitor(door);
  socket.on('error', () => {});
  socket.write(text, 'latin1');
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part);
  return Buffer.concat(parts).toString('latin1');
}

export const getRequest = (door: Door, path = '/'): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${door.host}:${door.port}\r\nConnection: close\r\n\r\n`;

/** One request on a new connection: its status and the whole answer; status 0 if the connection broke. */
export async function visit(
  door: Door,
  path = '/',
  request = getRequest(door, path),
): Promise<{ readonly status: number; readonly text: string }> {
  const text = await say(door, request).catch(() => '');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text };
}

/** Visits until the status is `wanted`; throws after `withinMs`. */
export async function visitUntil(door: Door, wanted: number, withinMs = 60_000): Promise<string> {
  const deadline = performance.now() + withinMs;
  for (let seen = 0; performance.now() < deadline; ) {
    const { status, text } = await visit(door);
    if (status === wanted) return text;
    seen = status;
    if (performance.now() > deadline) throw new Error(`status is still ${seen}, not ${wanted}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`no status ${wanted} within ${withinMs} ms`);
}

export const openDescriptors = async (pid: number): Promise<number> => (await readdir(`/proc/${pid}/fd`)).length;

/** Waits until a process has at most `atMost` open descriptors; throws after `withinMs`. */
export async function descriptorsSettle(pid: number, atMost: number, withinMs = 60_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  let open = await openDescriptors(pid);
  while (open > atMost) {
    if (performance.now() > deadline) throw new Error(`${open} descriptors are open, at most ${atMost} were expected`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    open = await openDescriptors(pid);
  }
}
