// Counts the connections of both public ports, in all and by source address, and turns away what is too many:
// closed at once, before a byte is read, so that a crowd costs little more than its packets.

import type { Socket } from 'node:net';
import { addressKey } from '@underpass/rules/address.ts';
import type { Logger } from 'pino';
import { type CrowdLimits, visitorLimit } from './core/crowd.ts';

export type CrowdReason = 'address' | 'total';

/** A crowd is told at most this often, with the number that was turned away meanwhile. */
const tellEveryMs = 10_000;

export class Doorman {
  readonly limits: CrowdLimits;
  open = 0;
  /** Of those that were admitted, since the start. */
  gone = 0;
  readonly refused: Record<CrowdReason, number> = { address: 0, total: 0 };
  readonly #visitorLimit: number;
  readonly #log: Logger;
  /** As long as the number of connections at most: what falls to zero is taken out. */
  readonly #byAddress = new Map<string, number>();
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #untold = 0;

  constructor(limits: CrowdLimits, log: Logger) {
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
    return this.open > this.#visitorLimit;
  }

  /** A place of the total for a connection that was just accepted; false where there is none, and the connection is over. */
  admit(socket: Socket, who: 'visitor' | 'anybody'): boolean {
    const limit = who === 'visitor' ? this.#visitorLimit : this.limits.total;
    if (this.open >= limit) return this.turnAway(socket, 'total');
    this.open++;
    socket.once('close', () => {
      this.open--;
      this.gone++;
    });
    return true;
  }

  /** Counts the connection to its address, once that is known; false where it has too many, and the connection is over. */
  seat(socket: Socket, address: string): boolean {
    const key = addressKey(address);
    const held = this.#byAddress.get(key) ?? 0;
    if (held >= this.limits.perAddress) return this.turnAway(socket, 'address', address);
    this.#byAddress.set(key, held + 1);
    socket.once('close', () => this.#unseat(key));
    return true;
  }

  #unseat(key: string): void {
    const held = this.#byAddress.get(key) ?? 0;
    if (held > 1) this.#byAddress.set(key, held - 1);
    else this.#byAddress.delete(key);
  }

  /** A reset leaves nothing behind in the kernel either. */
  turnAway(socket: Socket, reason: CrowdReason, address?: string): false {
    this.refused[reason]++;
    this.#untold++;
    socket.on('error', () => {});
    socket.resetAndDestroy();
    this.#tell(reason, address);
    return false;
  }

  #tell(reason: CrowdReason, address: string | undefined): void {
    const nowMs = performance.now();
    if (nowMs - this.#toldAtMs < tellEveryMs) return;
    const { open, limits } = this;
    this.#log.warn({ reason, address, refused: this.#untold, open, ...limits }, 'connections refused: too many');
    this.#toldAtMs = nowMs;
    this.#untold = 0;
  }
}
