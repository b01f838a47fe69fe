// DATA that may still arrive for streams that this side has reset: what the peer had credit for, and one FIN for each. Pure.

import { WireError } from './frame.ts';

export class LateDataAllowance {
  #bytes = 0;
  #ends = 0;

  /** Notes that this side has reset a stream on which its peer may still send this many bytes. */
  add(bytes: number): void {
    this.#bytes += bytes;
    this.#ends++;
  }

  /** A DATA frame for a stream that is over: allowed within what add() left, else an error. */
  spend(stream: number, length: number): void {
    this.#bytes -= length;
    if (length === 0) this.#ends--;
    if (this.#bytes < 0 || this.#ends < 0) throw new WireError('protocol', `DATA on closed stream ${stream}`);
  }
}
