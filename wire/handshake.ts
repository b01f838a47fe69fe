// The HTTP/1.1 Upgrade over a byte stream, for both sides: one head in, one head out, bounded in bytes and time.

import type { Duplex } from 'node:stream';
import type { RefusalCode } from './core/code.ts';
import { maxHeadBytes } from './core/head.ts';
import {
  type AnswerCode,
  parseUpgradeAnswer,
  parseUpgradeRequest,
  renderAcceptance,
  renderRefusal,
  renderUpgradeRequest,
  type UpgradeRequest,
} from './core/upgrade.ts';

type HandshakeCode = AnswerCode | 'timeout' | 'lost';

export class HandshakeError extends Error {
  readonly code: HandshakeCode;
  readonly retryAfterSeconds: number | null;

  constructor(code: HandshakeCode, retryAfterSeconds: number | null = null) {
    super(`upgrade failed: ${code}`);
    this.name = 'HandshakeError';
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Server: reads one request head and leaves later bytes in the socket. Rejects with bad-request, timeout or lost. */
export async function readUpgrade(socket: Duplex, options: { readonly timeoutMs: number }): Promise<UpgradeRequest> {
  const request = parseUpgradeRequest(await readHead(socket, options.timeoutMs));
  if (request === null) throw new HandshakeError('bad-request');
  return request;
}

/** Server: answers 101. The socket is then ready for createSession. */
export function acceptUpgrade(socket: Duplex, request: UpgradeRequest, headers: Readonly<Record<string, string>> = {}): void {
  socket.write(renderAcceptance(request.protocol, headers), 'latin1');
}

/** Server: answers with the coded refusal, then ends the socket. */
export function refuseUpgrade(socket: Duplex, code: RefusalCode, retryAfterSeconds?: number): void {
  socket.on('error', () => socket.destroy());
  socket.end(renderRefusal(code, retryAfterSeconds), 'latin1', () => socket.destroy());
}

interface UpgradeOptions {
  /** The Host header: the region's host, with the port if it is not 443. */
  readonly host: string;
  readonly path: string;
  readonly protocol: string;
  readonly token: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Client: sends the request, waits for the 101 and returns its headers. Rejects with the edge's code. */
export async function requestUpgrade(socket: Duplex, options: UpgradeOptions): Promise<ReadonlyMap<string, string>> {
  socket.write(renderUpgradeRequest(options.host, options, options.headers ?? {}), 'latin1');
  const answer = parseUpgradeAnswer(await readHead(socket, options.timeoutMs), options.protocol);
  if (!answer.accepted) throw new HandshakeError(answer.code, answer.retryAfterSeconds);
  return answer.headers;
}

/** Reads the head of one HTTP message, without its empty line, and puts later bytes back. The socket must not be flowing. */
export function readHead(socket: Duplex, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let held: Buffer = Buffer.alloc(0);
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      socket.off('readable', read).off('end', lost).off('error', lost).off('close', lost);
      finish();
    };
    const lost = (): void => settle(() => reject(new HandshakeError('lost')));
    const timer = setTimeout(() => settle(() => reject(new HandshakeError('timeout'))), timeoutMs);
    const read = (): void => {
      const next = takeHead(socket, held);
      if (typeof next === 'string') settle(() => resolve(next));
      else if (next === null) settle(() => reject(new HandshakeError('bad-request')));
      else held = next;
    };
    // Never removed: an error may come before the socket's next owner listens, and must not be unhandled.
    socket.on('error', () => {});
    socket.on('readable', read).on('end', lost).on('error', lost).on('close', lost);
  });
}

/** The head as text once it is complete; before that, the bytes read so far. Null when it is longer than the bound. */
function takeHead(socket: Duplex, before: Buffer): string | Buffer | null {
  let held = before;
  for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
    held = Buffer.concat([held, chunk]);
    const end = held.indexOf('\r\n\r\n');
    if (end > maxHeadBytes || (end < 0 && held.length > maxHeadBytes)) return null;
    if (end < 0) continue;
    if (held.length > end + 4) socket.unshift(held.subarray(end + 4));
    return held.toString('latin1', 0, end);
  }
  return held;
}
