// What may still arrive for streams that this side has reset: what the peer had credit for, and one end each. Pure.

import { WireError } from './frame.ts';

export class StrayAllowance {
  #bytes = 0;
  #ends = 0;

  /** A stream was reset while its peer could still send this much. */
  add(bytes: number): void {
    this.#bytes += bytes;
    this.#ends++;
  }

  /** A DATA frame for a stream that is gone: in order, or a breach. */
  spend(stream: number, length: number): void {
    this.#bytes -= length;
    if (length === 0) this.#ends--;
    if (this.#bytes < 0 || this.#ends < 0) throw new WireError('protocol', `DATA on closed stream ${stream}`);
  }
}
