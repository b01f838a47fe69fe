// Why an exchange ended without a whole answer, if the client has no problem of its own for it. docs/inspector.md lists them.

import type { ExchangeError } from '@underpass/rules/inspect/exchange.ts';
import type { ResetCode } from '@underpass/wire/core/code.ts';

const inspectErrors = {
  'upstream-closed': {
    title: 'The upstream closed the connection before it answered',
    fix: 'Look for a crash or a timeout in the log of the service.',
  },
  'answer-incomplete': {
    title: 'The answer ended before it was complete',
    fix: 'Look for a crash in the log of the service, and check that Content-Length matches the body.',
  },
  'websocket-cut': {
    title: 'The upstream ended the WebSocket without a close frame',
    fix: 'Look for a crash or a timeout in the log of the service.',
  },
  'visitor-left': {
    title: 'The visitor left before the answer was complete',
    fix: 'Nothing to do if a person closed the page. Senders of webhooks often wait for a few seconds only: answer first, then work.',
  },
  'carrier-lost': {
    title: 'The connection to the region was lost',
    fix: 'The visitor got an error. Run "underpass doctor" if this happens often.',
  },
  'stream-idle': {
    title: 'The edge ended the connection because nothing moved on it',
    fix: 'Send something from time to time, such as a ping or a comment line.',
  },
  'access-denied': {
    title: 'The edge cut the connection',
    fix: 'The tunnel was suspended or deleted, or its security group no longer allows this visitor.',
  },
  'replay-timeout': {
    title: 'No whole answer to the replayed request in time',
    fix: 'Check that the service is not stopped in a debugger, then replay again.',
  },
} as const;

type InspectErrorCode = keyof typeof inspectErrors;

export function errorOf(code: InspectErrorCode): ExchangeError {
  return { code, detail: '', ...inspectErrors[code] };
}

/** `resetBy` is the edge's reason, null if the upstream ended first. */
export function errorOfEnd(resetBy: ResetCode | null, wasAnswered: boolean): ExchangeError {
  switch (resetBy) {
    case null:
      return errorOf(wasAnswered ? 'answer-incomplete' : 'upstream-closed');
    case 'carrier-lost':
      return errorOf('carrier-lost');
    case 'idle':
      return errorOf('stream-idle');
    case 'denied':
      return errorOf('access-denied');
    default:
      return errorOf('visitor-left');
  }
}

/** No error if the visitor leaves after 101, as they may at any time. `wasCut`: the upstream ended a WebSocket without a word. */
export function errorOfUpgradedEnd(resetBy: ResetCode | null, wasCut: boolean): ExchangeError | null {
  const error = errorOfEnd(resetBy, true);
  if (resetBy === null) return wasCut ? errorOf('websocket-cut') : null;
  return error.code === 'visitor-left' ? null : error;
}
