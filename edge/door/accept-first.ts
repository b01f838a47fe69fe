// Divides turns of the event loop between accepting connections and starting handshakes.
// libuv (1.52) accepts one connection in each turn, so a burst waits in the kernel in order of arrival, and a visitor at its end
// waits for all before it. Accepting costs 0.1 ms, a handshake five to ten times as much: accept first, and start handshakes
// between.

/** Connections to accept for each handshake that was started, so about half of the time is left for handshakes. */
const acceptsPerBegin = 4;

export class AcceptFirst {
  #hasArrivals = false;
  /** Turns that may still go to accepting before handshakes start. */
  #turnsLeft = 0;

  /** A connection arrived in this turn. */
  arrived(): void {
    this.#hasArrivals = true;
  }

  /** Whether no handshake should start in this turn. Call it once a turn. */
  takesTurn(): boolean {
    const takes = this.#hasArrivals && this.#turnsLeft > 0;
    if (takes) this.#turnsLeft--;
    this.#hasArrivals = false;
    return takes;
  }

  began(handshakes: number): void {
    this.#turnsLeft = acceptsPerBegin * handshakes;
  }
}
