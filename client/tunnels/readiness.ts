// When a visitor's first request would succeed: a carrier is connected, its edge knows the addresses, and the edges of the region
// hold the route and its certificates. The upstream is not asked: it may start later than its tunnel.

import { parseUrl } from '@underpass/rules/text/parse-url.ts';
import { waitMs } from '../process/wait.ts';
import type { TunnelView } from '../terminal/live-status.ts';
import type { LogEvent } from '../terminal/log-line.ts';

export interface Readiness {
  /** The addresses that must work. If missing, those that the edge names. */
  readonly wanted?: readonly string[];
  /** True once every edge of the region holds the route and its certificates. Missing without an account: then the edge decides. */
  readonly isServed?: () => Promise<boolean>;
  /** The tunnel was made a moment ago, and an edge may not know its token yet. */
  readonly isNew?: boolean;
}

interface ReadyWatchOptions extends Readiness {
  readonly view: () => TunnelView | undefined;
  readonly onReady: (urls: readonly string[]) => void;
}

/** Takes every event of the tunnel until its end. */
export interface EventWatch {
  readonly onEvent: (event: Pick<LogEvent, 'event' | 'code' | 'text'>) => void;
  readonly end: () => void;
}

const [firstLookMs, longestLookMs] = [25, 1_000];
/** An edge sends at most this many addresses (docs/protocol.md, HELLO and INFO). */
const maxUrls = 16;

/** Calls `onReady` once. */
export function watchReady(options: ReadyWatchOptions): EventWatch {
  const over = new AbortController();
  let isLooking = false;
  const look = async (): Promise<void> => {
    isLooking = true;
    const urls = await whenReady(options, over.signal);
    isLooking = false;
    if (urls === undefined || over.signal.aborted) return;
    over.abort();
    options.onReady(urls);
  };
  return {
    onEvent({ event }) {
      if (event === 'connected' && !isLooking && !over.signal.aborted) void look();
    },
    end: () => over.abort(),
  };
}

/** The addresses; undefined once no carrier is connected, and at the abort. */
async function whenReady(options: ReadyWatchOptions, signal: AbortSignal): Promise<readonly string[] | undefined> {
  for (let pauseMs = firstLookMs; !signal.aborted; pauseMs = Math.min(2 * pauseMs, longestLookMs)) {
    const view = options.view();
    if (view?.state !== 'connected') return undefined;
    const urls = knownUrls(view.urls, options.wanted);
    // A server that does not answer now is asked again.
    if (urls !== undefined && (options.isServed === undefined || (await options.isServed().catch(() => false)))) return urls;
    await waitMs(pauseMs, signal);
  }
  return undefined;
}

/** The addresses that visitors may use, if the edge knows all that are wanted. */
function knownUrls(known: readonly string[], wanted: readonly string[] = known): readonly string[] | undefined {
  const hosts = new Set(known.map(hostOf));
  const areAll = known.length >= maxUrls || wanted.every((url) => hosts.has(hostOf(url)));
  return known.length > 0 && wanted.length > 0 && areAll ? wanted : undefined;
}

const hostOf = (url: string): string | undefined => parseUrl(url)?.hostname;
