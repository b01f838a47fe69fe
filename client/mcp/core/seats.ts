// Who has a server process: a bounded table of seats. A seat belongs to one visitor; somebody else's does not exist for them.

export interface Seat {
  readonly id: string;
  readonly visitor: string;
  /** When it was last used. */
  usedMs: number;
  /** Whether a request or a stream is open. */
  readonly isBusy: () => boolean;
}

interface SeatLimits {
  readonly total: number;
  readonly perVisitor: number;
  readonly idleMs: number;
}

interface Seats<S extends Seat> {
  readonly find: (id: string, visitor: string, nowMs: number) => S | undefined;
  /** `full`: none is free. A seat: this idle one must go first, of the visitor or of one who holds more. */
  readonly room: (visitor: string) => S | 'free' | 'full';
  readonly add: (seat: S) => void;
  readonly remove: (seat: S) => void;
  readonly idle: (nowMs: number) => readonly S[];
  readonly all: () => readonly S[];
}

const idlest = <S extends Seat>(seats: readonly S[]): S | undefined =>
  seats.filter((seat) => !seat.isBusy()).sort((a, b) => a.usedMs - b.usedMs)[0];

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
      const byVisitor = Map.groupBy(seats.values(), (seat) => seat.visitor);
      const own = byVisitor.get(visitor) ?? [];
      if (own.length >= perVisitor) return idlest(own) ?? 'full';
      if (seats.size < total) return 'free';
      // The visitor who holds the most gives one up, so that a few visitors cannot keep everybody else out.
      const groups = [...byVisitor.values()].sort((a, b) => b.length - a.length);
      const larger = groups.filter((group) => group === own || group.length > own.length + 1);
      return larger.map(idlest).find((seat) => seat !== undefined) ?? 'full';
    },
    add: (seat) => void seats.set(seat.id, seat),
    remove(seat) {
      if (seats.get(seat.id) === seat) seats.delete(seat.id);
    },
    idle: (nowMs) => [...seats.values()].filter((seat) => !seat.isBusy() && nowMs - seat.usedMs >= idleMs),
    all: () => [...seats.values()],
  };
}
