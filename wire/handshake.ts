// The HTTP/1.1 Upgrade that turns a TLS connection into a carrier or a feed, for both sides. Strict and bounded.

import type { Duplex } from 'node:stream';
import type { RefusalCode } from './core/code.ts';

export interface UpgradeRequest {
  readonly path: string;
  /** Value of Upgrade, lower case: `underpass`, `underpass-feed`, `underpass-hop`. */
  readonly protocol: string;
  readonly token: string;
  /** All headers, names in lower case; a repeated name is a bad request. */
  readonly headers: ReadonlyMap<string, string>;
}

/** Server: reads one request head (8 KiB, timeoutMs), leaves later bytes in the stream. Rejects with a HandshakeError. */
export type ReadUpgrade = (socket: Duplex, options: { timeoutMs: number }) => Promise<UpgradeRequest>;
/** Server: 101, with extra headers. The socket is then ready for createSession. */
export type AcceptUpgrade = (socket: Duplex, request: UpgradeRequest, headers?: Readonly<Record<string, string>>) => void;
/** Server: the coded refusal, then the end of the socket. */
export type RefuseUpgrade = (socket: Duplex, code: RefusalCode, options?: { retryAfterSeconds?: number }) => void;
/** Client: sends the request, waits for 101; rejects with a HandshakeError that holds the code. */
export type RequestUpgrade = (
  socket: Duplex,
  options: {
    host: string;
    path: string;
    protocol: string;
    token: string;
    headers?: Readonly<Record<string, string>>;
    timeoutMs: number;
  },
) => Promise<{ readonly headers: ReadonlyMap<string, string> }>;
