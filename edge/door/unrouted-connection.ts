// A connection from its acceptance until it is known what it wants: first bytes gathered, bounded in size and time.
// A PROXY header is read in front of them where, and only where, the connection comes from a configured balancer.

import type { Socket } from 'node:net';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { readShared } from '@underpass/wire/socket/shared-read.ts';
import { visitorAddress } from '../core/address.ts';
import { HeldBytes } from '../core/held-bytes.ts';
import { type Endpoints, peekProxyHeader } from '../core/proxy-protocol.ts';
import type { ConnectionLimiter } from '../limits/connection-limiter.ts';
import type { Deadline, Deadlines } from '../limits/deadlines.ts';
import { peekFirst, takePeeked } from './kernel-peek.ts';

/**
 * How a door takes connections. The system asks after a minute of silence whether the other machine is still there, and
 * lets go after ten seconds without an answer: a quiet WebSocket would hold its place for an hour otherwise.
 */
export const socketOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

/** Looks at the bytes so far, which are lent; true once it has taken the connection over or ended it. */
type Decide = (connection: UnroutedConnection, bytes: Buffer) => boolean;

export interface AcceptRules {
  readonly deadlines: Deadlines;
  readonly limiter: ConnectionLimiter;
  readonly headMs: number;
  isBalancer(address: string): boolean;
  /** There are routes to decide by. */
  isReady(): boolean;
  /** Some who get a connection should read it from its first byte: it is looked at before it is read, where that can be. */
  readonly peeks: boolean;
  /** For one connection: what it remembers of the bytes that it has seen is its own. */
  decider(): Decide;
  /** Ended before it could be decided. */
  onLost(): void;
}

const nothing = Buffer.alloc(0);

export class UnroutedConnection implements Deadline {
  readonly socket: Socket;
  ends: Endpoints;
  deadlineMs: number;
  readonly #rules: AcceptRules;
  readonly #decide: Decide;
  #held: HeldBytes | null = null;
  /** So many bytes were looked at and are still to be read. */
  #seen = 0;
  #awaitsHeader: boolean;
  #isOver = false;

  /** A connection that was just accepted; `who` may come to this port. */
  static receive(socket: Socket, rules: AcceptRules, who: 'visitor' | 'anybody'): void {
    if (!rules.isReady()) {
      // No words: an edge that has just begun would have to say that there is no such host.
      socket.on('error', () => {}).resetAndDestroy();
      rules.onLost();
      return;
    }
    if (!rules.limiter.admit(socket, who)) return;
    const ends = endsOf(socket);
    const behindBalancer = rules.isBalancer(ends.sourceAddress);
    if (behindBalancer || rules.limiter.admitAddress(socket, ends.sourceAddress))
      new UnroutedConnection(socket, ends, behindBalancer, rules);
  }

  private constructor(socket: Socket, ends: Endpoints, behindBalancer: boolean, rules: AcceptRules) {
    this.socket = socket;
    this.#rules = rules;
    this.#decide = rules.decider();
    this.ends = ends;
    this.#awaitsHeader = behindBalancer;
    this.deadlineMs = rules.deadlines.nowMs + rules.headMs;
    rules.deadlines.watch(this);
    socket.on('end', this.#lost).on('error', this.#lost).on('close', this.#lost);
    if (rules.peeks && !behindBalancer) peekFirst(socket, (bytes) => this.#look(bytes));
    else this.#listen();
  }

  /** What decide looks at, which the socket will not give again. Within decide, and once. */
  take(): Buffer {
    return this.#seen > 0 ? takePeeked(this.socket, this.#seen) : this.read;
  }

  /** As much of it as has been read by now: the socket still has the rest. */
  get read(): Buffer {
    return this.#held?.all ?? nothing;
  }

  /** Most first flights are there as a whole. */
  #look(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#seen = bytes.length;
    if (bytes.length > 0 && this.#decide(this, bytes)) {
      this.#leave();
      return;
    }
    this.#seen = 0;
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
    // A balancer's header may come alone; there is nothing to decide on yet.
    if (this.#held.length > 0 && this.#decide(this, this.#held.all)) this.#leave();
  }

  /** True once the header is taken off. */
  #takeHeader(): boolean {
    const bytes = this.read;
    const peek = peekProxyHeader(bytes);
    if (peek.kind === 'malformed') this.#lost();
    if (peek.kind !== 'header') return false;
    this.#awaitsHeader = false;
    this.#held = new HeldBytes(bytes.subarray(peek.bytes));
    return peek.ends === null || this.#seat(peek.ends);
  }

  /** The visitor's own ends take the place of the balancer's; false where it has too many connections. */
  #seat(ends: Endpoints): boolean {
    this.ends = ends;
    const seated = this.#rules.limiter.admitAddress(this.socket, ends.sourceAddress);
    if (!seated) this.#leave();
    return seated;
  }

  /** Its owner is somebody else from here on. */
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

/** Says one last thing and ends, without waiting for the visitor longer than it takes to send it. */
export function sendAndEnd(socket: Socket, words: Uint8Array | string, deadlines: Deadlines): void {
  const ending: Deadline = { deadlineMs: deadlines.nowMs + 2_000, onDeadline: () => void socket.destroy() };
  deadlines.watch(ending);
  socket.on('error', () => {});
  socket.once('close', () => deadlines.forget(ending));
  socket.on('end', () => socket.destroy());
  socket.end(words);
  readShared(socket, () => {});
  socket.resume();
}
