// Counts the connections of both public ports, in all and by source address, and turns away what is too many:
// closed at once, before a byte is read, so that a crowd costs little more than its packets. What HTTP/2 runs beside the
// first request of a connection costs as much as another connection (a first window of 64 KiB), and is counted as one.

import type { Socket } from 'node:net';
import { addressKey } from '@underpass/rules/address.ts';
import type { Logger } from 'pino';
import { besideLimit, type CrowdLimits, visitorLimit } from '../core/connection-limits.ts';

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
  #beside = 0;
  readonly #besideByAddress = new Map<string, number>();
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
    return this.#used > this.#visitorLimit;
  }

  get #used(): number {
    return this.open + this.#beside;
  }

  /** A place of the total for a connection that was just accepted; false where there is none, and the connection is over. */
  admit(socket: Socket, who: 'visitor' | 'anybody'): boolean {
    const limit = who === 'visitor' ? this.#visitorLimit : this.limits.total;
    if (this.#used >= limit) return this.turnAway(socket, 'total');
    this.open++;
    socket.on('close', () => {
      this.open--;
      this.gone++;
    });
    return true;
  }

  /** Counts the connection to its address, once that is known; false where it has too many, and the connection is over. */
  seat(socket: Socket, address: string): boolean {
    const key = addressKey(address);
    if (!countUp(this.#byAddress, key, this.limits.perAddress)) return this.turnAway(socket, 'address', address);
    socket.on('close', () => countDown(this.#byAddress, key));
    return true;
  }

  /** A place for a request beside others on its connection; false where there is none. */
  seatBeside(address: string): boolean {
    if (this.#used >= this.#visitorLimit) return this.#refuse('total', address);
    if (!countUp(this.#besideByAddress, addressKey(address), besideLimit(this.limits))) return this.#refuse('address', address);
    this.#beside++;
    return true;
  }

  unseatBeside(address: string): void {
    this.#beside--;
    countDown(this.#besideByAddress, addressKey(address));
  }

  /** A reset leaves nothing behind in the kernel either. */
  turnAway(socket: Socket, reason: CrowdReason, address?: string): false {
    socket.on('error', () => {});
    socket.resetAndDestroy();
    return this.#refuse(reason, address);
  }

  #refuse(reason: CrowdReason, address: string | undefined): false {
    this.refused[reason]++;
    this.#untold++;
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
