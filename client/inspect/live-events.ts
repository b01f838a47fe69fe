// Tells open pages what changed, as server-sent events: rows in batches, and for each row only its latest state.

import type { ServerResponse } from 'node:http';
import type { InspectEvent } from '@underpass/rules/inspect/exchange.ts';
import type { KeptExchange } from './exchange-log.ts';
import type { InspectSources } from './sources.ts';
import { summarize } from './view.ts';

const batchMs = 100;
/** A row that grows, such as a WebSocket, is sent at most this often. */
const growthMs = 1_000;
const quietMs = 15_000;
const maxPages = 8;
/** A page that does not read is cut here, and asks again for the list. */
const maxWaitingBytes = 4 * 1024 * 1024;

interface LiveEvents {
  /** False if there are too many. */
  add(response: ServerResponse): boolean;
  close(): void;
}

export function startLiveEvents({ log, check, state }: InspectSources): LiveEvents {
  const pages = new Set<ServerResponse>();
  const changed = new Set<KeptExchange>();
  const removed: number[] = [];
  const sentMs = new WeakMap<KeptExchange, { readonly atMs: number; readonly state: string }>();
  let timer: NodeJS.Timeout | undefined;
  let stopListening: (() => void) | undefined;
  const write = (text: string): void => {
    for (const page of pages) {
      if (page.writableLength > maxWaitingBytes) page.destroy();
      else page.write(text);
    }
  };
  const tell = (event: InspectEvent): void => write(`data: ${JSON.stringify(event)}\n\n`);
  const soon = (): void => {
    timer ??= setTimeout(flush, batchMs);
  };
  function flush(): void {
    timer = undefined;
    const now = log.clock.now();
    const due = [...changed].filter((exchange) => {
      const before = sentMs.get(exchange);
      return before === undefined || before.state !== stateOf(exchange) || now - before.atMs >= growthMs;
    });
    for (const exchange of due) {
      changed.delete(exchange);
      sentMs.set(exchange, { atMs: now, state: stateOf(exchange) });
    }
    const rows = due.filter(({ dropped }) => !dropped);
    if (rows.length > 0) tell({ kind: 'exchanges', exchanges: rows.map((exchange) => summarize(exchange, check)) });
    const ids = removed.splice(0);
    if (ids.length > 0) tell({ kind: 'removed', ids });
    if (rows.length > 0 || ids.length > 0) tell({ kind: 'state', state: state() });
    if (changed.size > 0) soon();
  }
  const listener = {
    changed(exchange: KeptExchange) {
      changed.add(exchange);
      soon();
    },
    removed(ids: readonly number[]) {
      for (const id of ids) removed.push(id);
      soon();
    },
  };
  const quiet = setInterval(() => write(':\n\n'), quietMs).unref();
  const forget = (page: ServerResponse): void => {
    pages.delete(page);
    if (pages.size > 0) return;
    stopListening?.();
    stopListening = undefined;
    clearTimeout(timer);
    timer = undefined;
    changed.clear();
    removed.length = 0;
  };
  return {
    add(response) {
      if (pages.size >= maxPages) return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(':\n\n');
      response.on('close', () => forget(response)).on('error', () => {});
      pages.add(response);
      // Without a page there is no listener, and a request costs nothing here.
      stopListening ??= log.listen(listener);
      return true;
    },
    close() {
      clearInterval(quiet);
      for (const page of [...pages]) {
        forget(page);
        page.destroy();
      }
    },
  };
}

const stateOf = ({ state, responseHead, edgeMs }: KeptExchange): string =>
  `${state}${responseHead === '' ? '' : ' answered'}${edgeMs === null ? '' : ' timed'}`;
