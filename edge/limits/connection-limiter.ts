// Counts the connections of both public ports, in all and by source address, and resets those above the limit or of a blocked
// address before reading a byte, so a flood costs little more than its packets. Each HTTP/2 request beyond the first of its connection
// costs as much as another connection (a first window of 64 KiB) and counts as one.

import type { Socket } from 'node:net';
import { addressKey } from '@underpass/rules/address/address.ts';
import { NetworkSet } from '@underpass/rules/address/network-set.ts';
import type { Logger } from 'pino';
import { visitorAddress } from '../core/address.ts';
import { type ConnectionLimits, extraRequestLimit, visitorLimit } from '../core/connection-limits.ts';

export type RefusalReason = 'address' | 'total' | 'blocked';

/** Log at most this often, with the number refused since the last line. */
const logEveryMs = 10_000;

export class ConnectionLimiter {
  readonly limits: ConnectionLimits;
  open = 0;
  /** Connections and extra requests that have ended since the start. */
  closed = 0;
  readonly refused: Record<RefusalReason, number> = { address: 0, total: 0, blocked: 0 };
  readonly #visitorLimit: number;
  readonly #log: Logger;
  /** No more entries than open connections: a count that falls to zero is deleted. */
  readonly #byAddress = new Map<string, number>();
  /**
   * The sources of open connections that came through a balancer; null until its header has named one. That of any other connection
   * is the address of its socket, so it needs no entry.
   */
  readonly #behindBalancer = new Map<Socket, string | null>();
  readonly #blocked: Pick<NetworkSet, 'has'>;
  #extraRequests = 0;
  readonly #extraByAddress = new Map<string, number>();
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #unlogged = 0;

  constructor(limits: ConnectionLimits, log: Logger, blocked: Pick<NetworkSet, 'has'> = new NetworkSet()) {
    this.limits = limits;
    this.#blocked = blocked;
    this.#visitorLimit = visitorLimit(limits);
    this.#log = log;
  }

  /** Addresses with a connection. */
  get addresses(): number {
    return this.#byAddress.size;
  }

  /** The remaining connections are reserved for clients. */
  get isFullForVisitors(): boolean {
    return this.#used > this.#visitorLimit;
  }

  get #used(): number {
    return this.open + this.#extraRequests;
  }

  /** Counts a new connection to the total. False if that is full; the connection is then reset. */
  admit(socket: Socket, who: 'visitor' | 'any'): boolean {
    const limit = who === 'visitor' ? this.#visitorLimit : this.limits.total;
    if (this.#used >= limit) return this.refuse(socket, 'total');
    this.open++;
    socket.on('close', () => {
      this.open--;
      this.closed++;
    });
    return true;
  }

  /** A balancer opened the connection: `admitAddress` gets the visitor's address later. */
  awaitSource(socket: Socket): void {
    this.#behindBalancer.set(socket, null);
    socket.on('close', () => this.#behindBalancer.delete(socket));
  }

  /**
   * Counts the connection to its address, once that is known. False if the address is blocked or has too many; the connection is
   * then reset.
   */
  admitAddress(socket: Socket, address: string): boolean {
    if (this.#blocked.has(address)) return this.refuse(socket, 'blocked', address);
    const key = addressKey(address);
    if (!countUp(this.#byAddress, key, this.limits.perAddress)) return this.refuse(socket, 'address', address);
    if (this.#behindBalancer.has(socket)) this.#behindBalancer.set(socket, address);
    socket.on('close', () => countDown(this.#byAddress, key));
    return true;
  }

  /** Ends those of the open connections whose address is blocked now: visitors, clients, and handshakes under way. */
  endBlocked(open: Iterable<Socket>): void {
    for (const socket of open) {
      const named = this.#behindBalancer.get(socket);
      const address = named === undefined ? visitorAddress(socket.remoteAddress) : named;
      if (address !== null && this.#blocked.has(address)) socket.destroy();
    }
  }

  /** Counts a request beyond the first of its connection. False if there are too many. */
  admitExtraRequest(address: string): boolean {
    if (this.#used >= this.#visitorLimit) return this.#countRefusal('total', address);
    if (!countUp(this.#extraByAddress, addressKey(address), extraRequestLimit(this.limits)))
      return this.#countRefusal('address', address);
    this.#extraRequests++;
    return true;
  }

  releaseExtraRequest(address: string): void {
    this.closed++;
    this.#extraRequests--;
    countDown(this.#extraByAddress, addressKey(address));
  }

  /** Resets the connection, which leaves nothing in the kernel either. */
  refuse(socket: Socket, reason: RefusalReason, address?: string): false {
    socket.on('error', () => {});
    socket.resetAndDestroy();
    return this.#countRefusal(reason, address);
  }

  #countRefusal(reason: RefusalReason, address: string | undefined): false {
    this.refused[reason]++;
    if (reason === 'blocked') return false;
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

/** False if the count is already `most`. */
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
