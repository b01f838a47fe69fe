// The last events of a session, so that a client can go on after a broken connection (MCP 2025-11-25, Resumability and Redelivery).
// Bounded by events and bytes; the oldest go first, whatever their stream.

interface LoggedEvent {
  readonly id: string;
  readonly data: string;
  /** The answer to a request: its stream ends with it. */
  readonly isLast: boolean;
}

interface EventLog {
  readonly add: (stream: number, data: string, isLast: boolean) => LoggedEvent;
  /** What followed `lastId` on its stream; null if that is not known in full. */
  readonly after: (lastId: string) => { readonly stream: number; readonly events: readonly LoggedEvent[] } | null;
  /** The id of the place before the first event of a stream. */
  readonly start: (stream: number) => string;
  /** Takes back `start` of a stream that has no event. */
  readonly forget: (stream: number) => void;
}

interface Kept extends LoggedEvent {
  readonly stream: number;
  readonly at: number;
}

/** The stream that belongs to no request. What is dropped of it cannot leave a client waiting. */
export const ownStream = 0;

export function createEventLog(maxEvents: number, maxBytes: number): EventLog {
  const kept: Kept[] = [];
  /** Streams of which events are kept, and the place of the last one that was dropped. */
  const dropped = new Map<number, number>();
  let bytes = 0;
  let last = 0;

  function dropOldest(): void {
    const oldest = kept.shift();
    if (oldest === undefined) return;
    bytes -= oldest.data.length;
    if (oldest.isLast) dropped.delete(oldest.stream);
    else dropped.set(oldest.stream, oldest.at);
  }

  return {
    start(stream) {
      if (!dropped.has(stream)) dropped.set(stream, last);
      return `${stream}-${last}`;
    },
    add(stream, data, isLast) {
      last += 1;
      if (!dropped.has(stream)) dropped.set(stream, last - 1);
      const event = { id: `${stream}-${last}`, data, isLast, stream, at: last };
      kept.push(event);
      bytes += data.length;
      while (kept.length > maxEvents || (bytes > maxBytes && kept.length > 1)) dropOldest();
      return event;
    },
    forget: (stream) => void dropped.delete(stream),
    after(lastId) {
      const [stream = -1, at = -1] = /^(\d{1,9})-(\d{1,15})$/.exec(lastId)?.slice(1).map(Number) ?? [];
      const lost = dropped.get(stream);
      if (lost === undefined || at > last || (at < lost && stream !== ownStream)) return null;
      return { stream, events: kept.filter((event) => event.stream === stream && event.at > at) };
    },
  };
}
