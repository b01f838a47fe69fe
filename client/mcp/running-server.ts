// A server process with the requests that wait for its answers. It ends a wait after a time, and all of them when the server ends.

import { codes, errorOf, type Id, type Json, type Message, notificationOf, type Request, type Unasked } from './core/message.ts';
import { createRouter, type Waiting } from './core/router.ts';
import type { McpLimits } from './limits.ts';
import type { ProcessEvents, ServerProcess } from './server-process.ts';

/** Who sends a request: a session, one request without a session, or this program itself. Those of one id share a bound. */
export interface Party {
  readonly id: string;
}

export interface RunOptions {
  readonly start: (events: ProcessEvents) => ServerProcess;
  readonly limits: McpLimits;
  readonly now: () => number;
  readonly onLog: (line: string) => void;
  /** A request or notification of the server that belongs to no request of a client. */
  readonly onOther: (message: Unasked) => void;
  readonly onEnd: (end: ServerEnd) => void;
}

export interface ServerEnd {
  readonly reason: string;
  /** Whether it was asked to end, or ended by itself: soon after its start, or later. */
  readonly how: 'asked' | 'early' | 'late';
}

export interface RunningServer {
  readonly request: (request: Request, party: Party, take: Waiting<Party>['take']) => void;
  /** False if the server does not take it. */
  readonly send: (body: Json) => boolean;
  readonly cancel: (party: Party, id: Id, reason?: unknown) => boolean;
  /** Cancels everything that this party waits for. */
  readonly leave: (party: Party) => void;
  readonly isBusy: () => boolean;
  /** Ends waits that took too long. */
  readonly sweep: () => void;
  readonly end: () => Promise<void>;
}

interface Deadline {
  readonly lastMs: number;
  nextMs: number;
}

/** The method that waits for changes, without an end. */
const endless = 'subscriptions/listen';

export function runServer({ start, limits, now, onLog, onOther, onEnd }: RunOptions): RunningServer {
  const router = createRouter<Party>();
  const startedMs = now();
  let hasSpoken = false;
  let isAsked = false;
  let isOver = false;
  const deadlines = new Map<number, Deadline>();
  const child = start({ onMessage: receive, onCut: refuseCut, onLog, onEnd: endAll });

  function settle(ours: number, code: number, text: string): void {
    deadlines.delete(ours);
    const found = router.forget(ours);
    found?.take(errorOf(found.id, code, text), true);
  }

  function receive(message: Message): void {
    hasSpoken = true;
    if (!router.receive(message) && message.kind !== 'answer') onOther(message);
  }

  function refuseCut(ours: number | undefined): void {
    if (ours !== undefined) settle(ours, codes.internal, `The MCP server's answer is larger than ${limits.lineBytes} bytes`);
  }

  function endAll(reason: string): void {
    isOver = true;
    // An answer with an error may have this server ended.
    const isEarly = !hasSpoken || now() - startedMs < limits.earlyMs;
    const how = isAsked ? 'asked' : isEarly ? 'early' : 'late';
    for (const ours of [...router.waiting.keys()]) settle(ours, codes.ended, 'The MCP server ended before it answered');
    onEnd({ reason, how });
  }

  const countOf = (id: string): number => [...router.waiting.values()].filter(({ party }) => party.id === id).length;

  function request(message: Request, party: Party, take: Waiting<Party>['take']): void {
    const refuse = (text: string) => take(errorOf(message.id, codes.ended, text), true);
    if (countOf(party.id) >= limits.requests) return void refuse('Too many requests wait for an answer');
    let ours = 0;
    const sent = router.send(message, party, (body, isAnswer) => {
      const deadline = deadlines.get(ours);
      if (isAnswer) deadlines.delete(ours);
      else if (deadline !== undefined) deadline.nextMs = now() + limits.answerMs;
      take(body, isAnswer);
    });
    if (sent === undefined)
      return void take(errorOf(message.id, codes.invalid, 'A request with this id waits for its answer'), true);
    ours = sent.ours;
    if (message.method !== endless)
      deadlines.set(ours, { nextMs: now() + limits.answerMs, lastMs: now() + limits.longestAnswerMs });
    if (isOver || !child.send(sent.body)) settle(ours, codes.ended, 'The MCP server does not read messages now');
  }

  function cancel(party: Party, id: Id, reason?: unknown): boolean {
    const cancelled = router.cancel(party, id, reason);
    if (cancelled !== undefined) child.send(cancelled);
    return cancelled !== undefined;
  }

  return {
    request,
    send: child.send,
    cancel,
    leave(party) {
      for (const { id } of router.of(party)) cancel(party, id);
    },
    isBusy: () => router.waiting.size > 0,
    sweep() {
      for (const [ours, { nextMs, lastMs }] of deadlines) {
        if (!router.waiting.has(ours)) deadlines.delete(ours);
        else if (now() >= Math.min(nextMs, lastMs)) {
          child.send(notificationOf('notifications/cancelled', { requestId: ours, reason: 'timeout' }));
          settle(ours, codes.timeout, 'The MCP server did not answer in time');
        }
      }
    },
    end() {
      isAsked = true;
      return child.end();
    },
  };
}
