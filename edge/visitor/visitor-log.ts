// The visitor logs of tunnels that have one: turns a request that has its answer into an entry, no faster than a log takes them.

import { truncateAddress, visitorLogBounds } from '@underpass/rules/tunnel/visitor-log.ts';
import type { FeedLogEntry, FeedVisitorLog } from '@underpass/wire/feed/feed.ts';
import { escapeText } from '../core/access-line.ts';
import type { VisitorLogQueue } from '../core/visitor-log-queue.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { VisitorTaker } from './request-log.ts';
import type { SeenRequest } from './seen-request.ts';

const { burst, perSecond, pathChars, nameChars } = visitorLogBounds;

/** How many entries of one tunnel may follow now. */
interface Bucket {
  tokens: number;
  atMs: number;
}

export class VisitorLog implements VisitorTaker {
  readonly #queue: VisitorLogQueue;
  /** Weak: it goes with its tunnel. */
  readonly #buckets = new WeakMap<TunnelState, Bucket>();

  constructor(queue: VisitorLogQueue) {
    this.#queue = queue;
  }

  admit(tunnel: TunnelState): boolean {
    const hasRoom = this.#hasRoom(tunnel, performance.now());
    if (!hasRoom) this.#queue.miss(tunnel.feed.id, 1);
    return hasRoom;
  }

  /** Takes a request that `admit` let in. If the log was switched off since then, nothing happens. */
  take(seen: SeenRequest): void {
    const { tunnel } = seen;
    const rules = tunnel?.feed.visitorLog;
    if (tunnel && rules !== undefined) this.#queue.add(tunnel.feed.id, renderEntry(seen, rules));
  }

  #hasRoom(tunnel: TunnelState, nowMs: number): boolean {
    const bucket = this.#buckets.get(tunnel) ?? { tokens: burst, atMs: nowMs };
    this.#buckets.set(tunnel, bucket);
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) / 1_000) * perSecond);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}

function renderEntry(seen: SeenRequest, { address, query }: FeedVisitorLog): FeedLogEntry {
  const { target } = seen;
  const path = query ? target : target.replace(/[?#].*$/s, '');
  return {
    atMs: seen.atMs,
    address: address === 'full' ? seen.address : truncateAddress(seen.address),
    who: escapeText(seen.who, nameChars),
    method: escapeText(seen.method, 24),
    host: escapeText(seen.host, nameChars),
    path: escapeText(path, pathChars),
    status: seen.status,
    bytes: seen.bytes,
    ...seen.times(),
    code: seen.code ?? '',
    ...(seen.rule === '' ? {} : { rule: escapeText(seen.rule, nameChars) }),
    ...(seen.trace === '' ? {} : { trace: seen.trace }),
  };
}
