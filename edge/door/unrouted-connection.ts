// A connection from its acceptance until its destination is known: gathers the first bytes, bounded in size and time.
// Reads a PROXY header in front of them only if the connection comes from a configured balancer.

import type { Socket } from 'node:net';
import { HeldBytes } from '@underpass/wire/http/held-bytes.ts';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { readShared } from '@underpass/wire/socket/shared-read.ts';
import { visitorAddress } from '../core/address.ts';
import { type Endpoints, peekProxyHeader } from '../core/proxy-protocol.ts';
import type { ConnectionLimiter } from '../limits/connection-limiter.ts';
import type { Deadline, Deadlines } from '../limits/deadlines.ts';
import { peekFirst, takePeeked } from './kernel-peek.ts';
import { type PathRules, UndecidedPath } from './visitor-path.ts';

/**
 * Options of accepted sockets. TCP keep-alive probes the peer after a minute of silence and gives up ten seconds later;
 * without it, a quiet WebSocket of a vanished machine stays open for an hour.
 */
export const socketOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

/** Looks at the bytes so far, which are valid until it returns. True once it has taken the connection over or ended it. */
type Decide = (connection: UnroutedConnection, bytes: Buffer) => boolean;

export interface AcceptRules extends PathRules {
  readonly limiter: ConnectionLimiter;
  readonly headMs: number;
  isBalancer(address: string): boolean;
  /** True once the edge has routes. */
  isReady(): boolean;
  /** Peek at the bytes before reading them, if the system can: some owners read a connection from its first byte. */
  readonly peeks: boolean;
  /** Missing: true. False: decide at once, after the header of a balancer, because the service may speak first. */
  readonly awaitsBytes?: boolean;
  /** Makes the function that decides about one connection, and that remembers what it has scanned. */
  decider(): Decide;
  /** The connection ended before a decision. */
  onLost(): void;
}

const nothing = Buffer.alloc(0);

export class UnroutedConnection implements Deadline {
  readonly socket: Socket;
  /** Null if its congestion control is decided. */
  readonly path: UndecidedPath | null;
  ends: Endpoints;
  deadlineMs: number;
  readonly #rules: AcceptRules;
  readonly #decide: Decide;
  #held: HeldBytes | null = null;
  /** Bytes that were peeked at and are still in the kernel. */
  #peekedBytes = 0;
  #awaitsHeader: boolean;
  #isOver = false;

  /** Takes an accepted connection. `who` says which connections this port serves. */
  static receive(socket: Socket, rules: AcceptRules, who: 'visitor' | 'any'): void {
    if (!rules.isReady()) {
      // Reset without an answer: before the first routes arrive, any answer would say that the host does not exist.
      socket.on('error', () => {}).resetAndDestroy();
      rules.onLost();
      return;
    }
    if (!rules.limiter.admit(socket, who)) return;
    const ends = endsOf(socket);
    const behindBalancer = rules.isBalancer(ends.sourceAddress);
    const path = UndecidedPath.watch(socket, rules);
    if (behindBalancer) rules.limiter.awaitSource(socket);
    if (behindBalancer || rules.limiter.admitAddress(socket, ends.sourceAddress))
      new UnroutedConnection(socket, ends, behindBalancer, path, rules);
  }

  private constructor(socket: Socket, ends: Endpoints, behindBalancer: boolean, path: UndecidedPath | null, rules: AcceptRules) {
    this.socket = socket;
    this.path = path;
    this.#rules = rules;
    this.#decide = rules.decider();
    this.ends = ends;
    this.#awaitsHeader = behindBalancer;
    this.deadlineMs = rules.deadlines.nowMs + rules.headMs;
    rules.deadlines.watch(this);
    socket.on('end', this.#lost).on('error', this.#lost).on('close', this.#lost);
    if (rules.awaitsBytes === false && !behindBalancer && this.#decide(this, nothing)) this.#leave();
    else if (rules.peeks && !behindBalancer) peekFirst(socket, (bytes) => this.#look(bytes));
    else this.#listen();
  }

  /** Takes the bytes that `decide` sees out of the socket. Call it within `decide`, and once. */
  take(): Buffer {
    return this.#peekedBytes > 0 ? takePeeked(this.socket, this.#peekedBytes) : this.read;
  }

  /** The part of the bytes that is already out of the socket. */
  get read(): Buffer {
    return this.#held?.all ?? nothing;
  }

  /** Most first flights have arrived whole. */
  #look(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#peekedBytes = bytes.length;
    if (bytes.length > 0 && this.#decide(this, bytes)) {
      this.#leave();
      return;
    }
    this.#peekedBytes = 0;
    this.#listen();
  }

  #listen(): void {
    readShared(this.socket, (chunk) => this.#receive(chunk));
  }

  #receive(chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#held === null) this.#held = new HeldBytes(chunk);
    else this.#held.add(chunk);
    if (this.#awaitsHeader && !this.#takeHeader()) return;
    // A balancer's header may arrive alone; then there is nothing to decide yet.
    if ((this.#held.length > 0 || this.#rules.awaitsBytes === false) && this.#decide(this, this.#held.all)) this.#leave();
  }

  /** True once the header is removed. */
  #takeHeader(): boolean {
    const bytes = this.read;
    const peek = peekProxyHeader(bytes);
    if (peek.kind === 'malformed') this.#lost();
    if (peek.kind !== 'header') return false;
    this.#awaitsHeader = false;
    this.#held = new HeldBytes(bytes.subarray(peek.bytes));
    return peek.ends === null || this.#admitVisitor(peek.ends);
  }

  /** Replaces the balancer's addresses by the visitor's. False if the visitor has too many connections. */
  #admitVisitor(ends: Endpoints): boolean {
    this.ends = ends;
    const admitted = this.#rules.limiter.admitAddress(this.socket, ends.sourceAddress);
    if (!admitted) this.#leave();
    return admitted;
  }

  /** Removes the listeners from the socket, because its next owner adds its own. */
  #leave(): void {
    this.#isOver = true;
    this.#rules.deadlines.forget(this);
    this.socket.off('end', this.#lost).off('error', this.#lost).off('close', this.#lost);
    this.#held = null;
  }

  readonly #lost = (): void => {
    this.#leave();
    this.socket.on('error', () => {});
    resetSocket(this.socket);
    this.#rules.onLost();
  };

  onDeadline(): void {
    this.#lost();
  }
}

const endsOf = (socket: Socket): Endpoints => ({
  sourceAddress: visitorAddress(socket.remoteAddress),
  sourcePort: socket.remotePort ?? 0,
  destinationAddress: visitorAddress(socket.localAddress),
  destinationPort: socket.localPort ?? 0,
});

/** Sends a last answer and ends the connection; destroys it if the visitor does not read within two seconds. */
export function sendAndEnd(socket: Socket, answer: Uint8Array | string, deadlines: Deadlines): void {
  const ending: Deadline = { deadlineMs: deadlines.nowMs + 2_000, onDeadline: () => void socket.destroy() };
  deadlines.watch(ending);
  socket.on('error', () => {});
  socket.once('close', () => deadlines.forget(ending));
  socket.on('end', () => socket.destroy());
  socket.end(answer);
  readShared(socket, () => {});
  socket.resume();
}
