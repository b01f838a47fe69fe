// Who has a server process: a bounded table of seats. A seat belongs to one visitor; somebody else's does not exist for them.

export interface Seat {
  readonly id: string;
  readonly visitor: string;
  /** When it was last used. */
  usedMs: number;
  /** Whether a request or a stream is open. */
  readonly isBusy: () => boolean;
}

export interface SeatLimits {
  readonly total: number;
  readonly perVisitor: number;
  readonly idleMs: number;
}

export interface Seats<S extends Seat> {
  readonly find: (id: string, visitor: string, nowMs: number) => S | undefined;
  /** `full`: none is free. A seat: this one must go first, the visitor's own that is idle for longest. */
  readonly room: (visitor: string) => S | 'free' | 'full';
  readonly add: (seat: S) => void;
  readonly remove: (seat: S) => void;
  readonly idle: (nowMs: number) => readonly S[];
  readonly all: () => readonly S[];
}

export function createSeats<S extends Seat>({ total, perVisitor, idleMs }: SeatLimits): Seats<S> {
  const seats = new Map<string, S>();
  return {
    find(id, visitor, nowMs) {
      const seat = seats.get(id);
      if (seat?.visitor !== visitor) return undefined;
      seat.usedMs = nowMs;
      return seat;
    },
    room(visitor) {
      const own = [...seats.values()].filter((seat) => seat.visitor === visitor);
      if (seats.size < total && own.length < perVisitor) return 'free';
      const idle = own.filter((seat) => !seat.isBusy()).sort((a, b) => a.usedMs - b.usedMs);
      return idle[0] ?? 'full';
    },
    add: (seat) => void seats.set(seat.id, seat),
    remove(seat) {
      if (seats.get(seat.id) === seat) seats.delete(seat.id);
    },
    idle: (nowMs) => [...seats.values()].filter((seat) => !seat.isBusy() && nowMs - seat.usedMs >= idleMs),
    all: () => [...seats.values()],
  };
}
