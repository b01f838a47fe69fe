// Counts the connections of both public ports, in all and by source address, and turns away what is too many:
// closed at once, before a byte is read, so that a crowd costs little more than its packets. What HTTP/2 runs beside the
// first request of a connection costs as much as another connection (a first window of 64 KiB), and is counted as one.

import type { Socket } from 'node:net';
import { addressKey } from '@underpass/rules/address.ts';
import type { Logger } from 'pino';
import { type ConnectionLimits, extraRequestLimit, visitorLimit } from '../core/connection-limits.ts';

export type RefusalReason = 'address' | 'total';

/** A crowd is told at most this often, with the number that was turned away meanwhile. */
const logEveryMs = 10_000;

export class ConnectionLimiter {
  readonly limits: ConnectionLimits;
  open = 0;
  /** Of those that were admitted, since the start. */
  closed = 0;
  readonly refused: Record<RefusalReason, number> = { address: 0, total: 0 };
  readonly #visitorLimit: number;
  readonly #log: Logger;
  /** As long as the number of connections at most: what falls to zero is taken out. */
  readonly #byAddress = new Map<string, number>();
  #extraRequests = 0;
  readonly #extraByAddress = new Map<string, number>();
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #unlogged = 0;

  constructor(limits: ConnectionLimits, log: Logger) {
    this.limits = limits;
    this.#visitorLimit = visitorLimit(limits);
    this.#log = log;
  }

  /** Addresses with a connection. */
  get addresses(): number {
    return this.#byAddress.size;
  }

  /** What is left is for clients. */
  get isFullForVisitors(): boolean {
    return this.#used > this.#visitorLimit;
  }

  get #used(): number {
    return this.open + this.#extraRequests;
  }

  /** A place of the total for a connection that was just accepted; false where there is none, and the connection is over. */
  admit(socket: Socket, who: 'visitor' | 'anybody'): boolean {
    const limit = who === 'visitor' ? this.#visitorLimit : this.limits.total;
    if (this.#used >= limit) return this.refuse(socket, 'total');
    this.open++;
    socket.on('close', () => {
      this.open--;
      this.closed++;
    });
    return true;
  }

  /** Counts the connection to its address, once that is known; false where it has too many, and the connection is over. */
  admitAddress(socket: Socket, address: string): boolean {
    const key = addressKey(address);
    if (!countUp(this.#byAddress, key, this.limits.perAddress)) return this.refuse(socket, 'address', address);
    socket.on('close', () => countDown(this.#byAddress, key));
    return true;
  }

  /** A place for a request beside others on its connection; false where there is none. */
  admitExtraRequest(address: string): boolean {
    if (this.#used >= this.#visitorLimit) return this.#countRefusal('total', address);
    if (!countUp(this.#extraByAddress, addressKey(address), extraRequestLimit(this.limits)))
      return this.#countRefusal('address', address);
    this.#extraRequests++;
    return true;
  }

  releaseExtraRequest(address: string): void {
    this.#extraRequests--;
    countDown(this.#extraByAddress, addressKey(address));
  }

  /** A reset leaves nothing behind in the kernel either. */
  refuse(socket: Socket, reason: RefusalReason, address?: string): false {
    socket.on('error', () => {});
    socket.resetAndDestroy();
    return this.#countRefusal(reason, address);
  }

  #countRefusal(reason: RefusalReason, address: string | undefined): false {
    this.refused[reason]++;
    this.#unlogged++;
    this.#logRefusal(reason, address);
    return false;
  }

  #logRefusal(reason: RefusalReason, address: string | undefined): void {
    const nowMs = performance.now();
    if (nowMs - this.#loggedAtMs < logEveryMs) return;
    const { open, limits } = this;
    this.#log.warn({ reason, address, refused: this.#unlogged, open, ...limits }, 'connections refused: too many');
    this.#loggedAtMs = nowMs;
    this.#unlogged = 0;
  }
}

/** False at the most. */
function countUp(counts: Map<string, number>, key: string, most: number): boolean {
  const held = counts.get(key) ?? 0;
  if (held < most) counts.set(key, held + 1);
  return held < most;
}

function countDown(counts: Map<string, number>, key: string): void {
  const held = counts.get(key) ?? 0;
  if (held > 1) counts.set(key, held - 1);
  else counts.delete(key);
}
