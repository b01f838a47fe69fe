// The event streams of one session: one for each open request, and one of its own for what belongs to no request. A stream outlives
// its connection, and a client goes on where it was (MCP 2025-11-25, Resumability and Redelivery).

import { createEventLog, ownStream } from './core/event-log.ts';
import type { Id, Json, Request } from './core/message.ts';
import type { McpLimits } from './limits.ts';
import type { Outlet } from './outlet.ts';
import type { Take } from './prepared.ts';

interface SessionStreams {
  /** Opens the stream of a request. `primes`: the client understands an event without data. */
  readonly open: (request: Request, outlet: Outlet, primes: boolean) => Take;
  /** Ends the stream of a request that was cancelled. */
  readonly cancelled: (id: Id) => void;
  /** Connects a GET. False if what followed `lastEventId` is not known. */
  readonly listen: (outlet: Outlet, lastEventId: string | undefined, primes: boolean) => boolean;
  /** Sends what belongs to no request, on one stream. */
  readonly send: (body: Json) => void;
  readonly isBusy: () => boolean;
  readonly end: () => void;
}

export function createSessionStreams(limits: McpLimits): SessionStreams {
  const log = createEventLog(limits.events.count, limits.events.bytes);
  const outlets = new Map<number, Outlet>();
  /** Streams of requests without an answer, oldest first. */
  const open = new Map<number, Id>();
  let last = ownStream;
  /** The last event of the session's own stream that went to a connection. */
  let heard = `${ownStream}-0`;

  function connect(stream: number, outlet: Outlet): void {
    const before = outlets.get(stream);
    outlets.set(stream, outlet);
    before?.end();
    outlet.onGone(() => outlets.get(stream) === outlet && outlets.delete(stream));
  }

  function add(stream: number, data: string, isLast: boolean): void {
    const outlet = outlets.get(stream);
    if (isLast && outlet?.isStream() === false) {
      // The client knows no place from which it could go on.
      log.forget(stream);
      outlet.send({ data, isLast });
    } else {
      const event = log.add(stream, data, isLast);
      outlet?.send(event);
      if (stream === ownStream && outlet !== undefined) heard = event.id;
    }
    if (isLast) close(stream);
  }

  function close(stream: number): void {
    outlets.delete(stream);
    open.delete(stream);
  }

  return {
    open(request, outlet, primes) {
      last += 1;
      const stream = last;
      open.set(stream, request.id);
      connect(stream, outlet);
      const firstId = log.start(stream);
      outlet.open({ at: 'later', firstId: primes ? firstId : undefined });
      return (body, isAnswer) => add(stream, JSON.stringify(body), isAnswer);
    },
    cancelled(id) {
      for (const [stream, each] of open) {
        if (each !== id) continue;
        if (outlets.get(stream)?.isStream() === false) log.forget(stream);
        else log.add(stream, '', true);
        outlets.get(stream)?.end();
        close(stream);
      }
    },
    listen(outlet, lastEventId, primes) {
      const firstId = lastEventId ?? log.start(ownStream);
      const found = log.after(lastEventId ?? heard);
      if (found === null) return false;
      const { stream, events } = found;
      connect(stream, outlet);
      outlet.open({ at: 'once', firstId: primes && events.length === 0 ? firstId : undefined });
      for (const event of events) outlet.send(event);
      if (stream === ownStream) heard = events.at(-1)?.id ?? heard;
      else if (!open.has(stream)) outlet.end();
      return true;
    },
    send(body) {
      const newest = [...open.keys()].at(-1);
      add(newest ?? ownStream, JSON.stringify(body), false);
    },
    isBusy: () => open.size + outlets.size > 0,
    end() {
      for (const outlet of outlets.values()) outlet.end();
      outlets.clear();
    },
  };
}
