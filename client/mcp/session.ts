// A session of one visitor: its streams, and the server that it has for itself or shares.

import { codes, errorOf, type Id, type Json, type Message, objectAt, type Request, type Unasked } from './core/message.ts';
import type { Seat } from './core/seats.ts';
import type { McpLimits } from './limits.ts';
import type { Outlet } from './outlet.ts';
import { requestShared, type Take } from './prepared.ts';
import type { RunningServer } from './running-server.ts';
import { createSessionStreams } from './session-streams.ts';

export interface Session extends Seat {
  readonly server: RunningServer;
  readonly request: (request: Request, outlet: Outlet, primes: boolean) => void;
  /** Sends an answer that the client has, once, under the headers of the request. */
  readonly answer: (request: Request, outlet: Outlet, primes: boolean, answer: Json) => void;
  readonly notify: (message: Extract<Message, { kind: 'notification' }>) => void;
  /** Takes a client's answer to a request of the server. False if the server does not wait for it. */
  readonly respond: (message: Extract<Message, { kind: 'answer' }>) => boolean;
  readonly listen: (outlet: Outlet, lastEventId: string | undefined, primes: boolean) => boolean;
  /** Takes what the server sends without a request of the client. */
  readonly take: (message: Unasked) => void;
  readonly end: () => Promise<void>;
}

interface SessionOptions {
  readonly id: string;
  readonly visitor: string;
  readonly server: RunningServer;
  readonly isShared: boolean;
  readonly limits: McpLimits;
  readonly now: () => number;
  /** The server refused to initialize it. */
  readonly onRefused: () => void;
}

/** What a session that shares its server tells that server: the rest is about one client. */
const cancelledMethod = 'notifications/cancelled';

export function createSession({ id, visitor, server, isShared, limits, now, onRefused }: SessionOptions): Session {
  const streams = createSessionStreams(limits);
  /** Ids of the server's requests that the client has not answered. */
  const asked = new Set<Id>();

  const session: Session = {
    ...{ id, visitor, server, usedMs: now() },
    isBusy: streams.isBusy,
    request(request, outlet, primes) {
      const take = takeOf(request, outlet, primes);
      if (isShared) requestShared(server, request, session, take);
      else server.request(request, session, take);
    },
    answer: (request, outlet, primes, answer) => takeOf(request, outlet, primes)(answer, true),
    notify({ method, body }) {
      const { requestId, reason } = objectAt(body, 'params');
      if (method === cancelledMethod) cancel(requestId, reason);
      else if (!isShared) server.send(body);
    },
    respond({ id: answered, body }) {
      return asked.delete(answered) && server.send(body);
    },
    listen: streams.listen,
    take(message) {
      if (message.kind === 'request' && !admitRequest(message)) return;
      streams.send(message.body);
    },
    async end() {
      streams.end();
      server.leave(session);
      if (!isShared) await server.end();
    },
  };

  function takeOf(request: Request, outlet: Outlet, primes: boolean): Take {
    const take = streams.open(request, outlet, primes);
    return (body, isAnswer) => {
      session.usedMs = now();
      take(body, isAnswer);
      if (request.method === 'initialize' && 'error' in body) onRefused();
    };
  }

  function cancel(requestId: unknown, reason: unknown): void {
    if (typeof requestId !== 'string' && typeof requestId !== 'number') return;
    if (server.cancel(session, requestId, reason)) streams.cancelled(requestId);
  }

  function admitRequest({ id: asking }: Request): boolean {
    if (asked.size >= limits.requests) {
      server.send(errorOf(asking, codes.ended, 'Too many requests wait for an answer'));
      return false;
    }
    asked.add(asking);
    return true;
  }

  return session;
}
