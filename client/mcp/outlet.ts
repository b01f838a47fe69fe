// The HTTP answer to one request or GET: one JSON object if the answer comes soon, else an event stream.

import type { ServerResponse } from 'node:http';
import type { McpLimits } from './limits.ts';

interface OutletEvent {
  readonly data: string;
  /** The place from which a client may go on. Missing: it cannot. */
  readonly id?: string;
  /** The answer: it ends the stream. */
  readonly isLast: boolean;
  /** HTTP's status, if the answer comes as one object. */
  readonly status?: number;
}

export interface Outlet {
  readonly send: (event: OutletEvent) => void;
  /** Opens the event stream now, or after the usual time. `firstId` is the place before its first event. */
  readonly open: (options: { readonly at: 'once' | 'later'; readonly firstId?: string | undefined }) => void;
  /** Whether the event stream is open. */
  readonly isStream: () => boolean;
  readonly end: () => void;
  /** Calls the listener when the connection ends before the answer. */
  readonly onGone: (listener: () => void) => void;
  readonly setHeader: (name: string, value: string) => void;
}

export function createOutlet(response: ServerResponse, limits: McpLimits): Outlet {
  let waiting: NodeJS.Timeout | undefined;
  let keepAlive: NodeJS.Timeout | undefined;
  response.once('close', () => {
    clearTimeout(waiting);
    clearInterval(keepAlive);
  });

  function openStream(firstId?: string): void {
    clearTimeout(waiting);
    if (response.headersSent || response.destroyed) return;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
    response.flushHeaders();
    if (firstId !== undefined) response.write(`id: ${firstId}\ndata: \n\n`);
    keepAlive = setInterval(() => write(':\n\n'), limits.keepAliveMs);
  }

  /** A client that does not read loses its connection, so that what waits for it stays bounded. */
  function write(text: string): void {
    if (response.writableLength > limits.queuedBytes) response.destroy();
    else if (!response.writableEnded) response.write(text);
  }

  function end(): void {
    clearTimeout(waiting);
    clearInterval(keepAlive);
    if (!response.headersSent && !response.destroyed) response.writeHead(202);
    response.end();
  }

  return {
    send({ data, id, isLast, status = 200 }) {
      if (!isLast || response.headersSent) {
        openStream();
        write(`${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${data}\n\n`);
        if (isLast) end();
        return;
      }
      clearTimeout(waiting);
      if (response.destroyed) return;
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(data);
    },
    open({ at, firstId }) {
      if (at === 'once') openStream(firstId);
      else waiting = setTimeout(() => openStream(firstId), limits.streamAfterMs);
    },
    isStream: () => response.headersSent,
    end,
    onGone(listener) {
      const tell = () => void (response.writableFinished || listener());
      if (response.destroyed) tell();
      else response.once('close', tell);
    },
    setHeader: (name, value) => void response.setHeader(name, value),
  };
}
