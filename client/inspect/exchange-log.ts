// The exchanges that the inspector keeps, newest last, within its limits on bytes and on their number.

import type { EventView, ExchangeError, ExchangeState, ExchangeSummary, FrameView } from '@underpass/rules/inspect/exchange.ts';
import type { Upstream } from '@underpass/rules/tunnel/upstream.ts';
import type { ServedUpstream } from '../carry/upstream-map.ts';
import type { UpstreamTrust } from '../carry/upstream-socket.ts';
import { InflateBudget } from './inflate-budget.ts';
import { Ring } from './ring.ts';

export const inspectLimits = {
  /** Heads, bodies, frames and events of all exchanges. */
  bytes: 64 * 1024 * 1024,
  /** Bytes of one body; what follows is counted and not kept. */
  bodyBytes: 1024 * 1024,
  exchanges: 1_000,
  /** The newest of one exchange. */
  frames: 500,
  /** Bytes of the text of one frame or event. */
  frameBytes: 16 * 1024,
} as const;

export type InspectLimits = Readonly<Record<keyof typeof inspectLimits, number>>;

/** What an exchange costs besides its texts and bodies: the objects, measured at 1.1 kB and rounded up. */
const baseBytes = 2_048;

/** A body as it passed, its first bytes kept. A chunk of text is Latin-1: its characters are the bytes. */
export interface KeptBody {
  chunks: readonly (Buffer | string)[];
  /** Room in the last chunk. */
  freeBytes: number;
  keptBytes: number;
  bytes: number;
}

/** Most exchanges have no body, no frames and no events: they share one empty list. */
const empty: readonly never[] = Object.freeze([]);

const emptyBody = (): KeptBody => ({ chunks: empty, freeBytes: 0, keptBytes: 0, bytes: 0 });

/** The kept bytes in one piece. */
export function bytesOf({ chunks, keptBytes }: KeptBody): Buffer {
  const pieces = chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk, 'latin1') : chunk));
  return Buffer.concat(pieces, keptBytes);
}

/**
 * A first piece up to this size is kept as text. A small Buffer would be a slice of Node's pool, and keep the bytes of others
 * alive beside its own: about 16 MB in a full log. One with memory of its own costs ten times the time and 250 bytes more.
 */
const maxTextBytes = 4 * 1024;

/** A body that comes in small pieces gets chunks of this size at most, so that an object for each piece is not needed. */
const maxChunkBytes = 64 * 1024;

/** Where a request went, so that it can be sent there again. */
export interface Route {
  readonly upstream: Upstream;
  readonly trust: UpstreamTrust;
  /** The PROXY header of the visitor's connection; empty without one. */
  readonly preface: Uint8Array;
  /** The Host that the upstream gets; missing if it is the visitor's. */
  readonly sentHost?: string | undefined;
  /** Set if the path of a request decides. */
  readonly routes?: readonly ServedUpstream[] | undefined;
}

/** Moments are milliseconds of a monotonic clock; NaN: not yet. */
export interface KeptExchange {
  readonly id: number;
  readonly tunnel: string;
  readonly route: Route;
  readonly visitorAddress: string;
  readonly replayOf: number | null;
  readonly startedAtMs: number;
  readonly startMs: number;
  state: ExchangeState;
  kind: ExchangeSummary['kind'];
  /** Latin-1, from the first line to the blank line. */
  requestHead: string;
  /** Empty before the answer. */
  responseHead: string;
  readonly request: KeptBody;
  readonly response: KeptBody;
  /** Bytes each way after an upgrade, which belong to no body. */
  readonly upgradedBytes: { request: number; response: number };
  /** Milliseconds from the start; 0 if the connection was open. */
  connectMs: number;
  requestEndMs: number;
  responseStartMs: number;
  endMs: number;
  /** Both as in Timing. */
  edgeMs: number | null;
  tunnelMs: number | null;
  error: ExchangeError | null;
  frames: readonly FrameView[];
  droppedFrames: number;
  events: readonly EventView[];
  droppedEvents: number;
  /** What it counts for in the limit on bytes. */
  heldBytes: number;
  /** True once the exchange has left the list: nothing more is kept of it. */
  dropped: boolean;
}

type NewExchange = Pick<
  KeptExchange,
  'tunnel' | 'route' | 'visitorAddress' | 'replayOf' | 'requestHead' | 'connectMs' | 'tunnelMs'
>;

interface LogListener {
  readonly changed: (exchange: KeptExchange) => void;
  readonly removed: (ids: readonly number[]) => void;
}

interface LogClock {
  /** A date. */
  readonly date: () => number;
  /** Monotonic. */
  readonly now: () => number;
}

export class ExchangeLog {
  readonly clock: LogClock;
  readonly inflateBudget: InflateBudget;
  readonly #limits: InspectLimits;
  readonly #kept: Ring<KeptExchange>;
  readonly #listeners = new Set<LogListener>();
  /** A date is this and a moment of the clock. */
  readonly #epochMs: number;
  #lastId = 0;
  keptBytes = 0;
  /** Exchanges that left because of the limits. */
  droppedCount = 0;

  constructor(clock: LogClock, limits: InspectLimits = inspectLimits) {
    this.clock = clock;
    this.inflateBudget = new InflateBudget(clock.now);
    this.#epochMs = clock.date() - clock.now();
    this.#limits = limits;
    // One more: it is added before the oldest leaves.
    this.#kept = new Ring(limits.exchanges + 1);
  }

  get size(): number {
    return this.#kept.size;
  }

  all(): Generator<KeptExchange, void> {
    return this.#kept.items();
  }

  latest(count: number): readonly KeptExchange[] {
    const first = Math.max(0, this.#kept.size - count);
    return [...this.all().drop(first)];
  }

  get(id: number): KeptExchange | undefined {
    return this.all().find((exchange) => exchange.id === id);
  }

  add(given: NewExchange): KeptExchange {
    const startMs = this.clock.now();
    const exchange: KeptExchange = {
      id: ++this.#lastId,
      tunnel: given.tunnel,
      route: given.route,
      visitorAddress: given.visitorAddress,
      replayOf: given.replayOf,
      startedAtMs: this.#epochMs + startMs,
      startMs,
      state: 'open',
      kind: 'http',
      requestHead: given.requestHead,
      responseHead: '',
      request: emptyBody(),
      response: emptyBody(),
      upgradedBytes: { request: 0, response: 0 },
      connectMs: given.connectMs,
      requestEndMs: Number.NaN,
      responseStartMs: Number.NaN,
      endMs: Number.NaN,
      edgeMs: null,
      tunnelMs: given.tunnelMs,
      error: null,
      frames: empty,
      droppedFrames: 0,
      events: empty,
      droppedEvents: 0,
      heldBytes: 0,
      dropped: false,
    };
    this.#kept.push(exchange);
    this.hold(exchange, baseBytes + given.requestHead.length);
    this.changed(exchange);
    return exchange;
  }

  /** Counts bytes for an exchange, or gives them back, and removes the oldest exchanges if there are too many. */
  hold(exchange: KeptExchange, bytes: number): void {
    if (exchange.dropped) return;
    exchange.heldBytes += bytes;
    this.keptBytes += bytes;
    while (this.#kept.size > this.#limits.exchanges || (this.keptBytes > this.#limits.bytes && this.#kept.size > 1))
      this.#dropOldest();
  }

  /** Copies what the limit on a body leaves room for. */
  keepBody(exchange: KeptExchange, body: KeptBody, bytes: Uint8Array, from: number, to: number): void {
    body.bytes += to - from;
    const room = Math.min(to - from, this.#limits.bodyBytes - body.keptBytes);
    if (room <= 0 || exchange.dropped) return;
    this.hold(exchange, append(body, bytes as Buffer, from, from + room));
  }

  keepFrame(exchange: KeptExchange, frame: FrameView): void {
    if (exchange.dropped) return;
    const { list, bytes, dropped } = this.#append(exchange.frames, frame);
    exchange.frames = list;
    exchange.droppedFrames += dropped;
    this.hold(exchange, bytes);
    this.changed(exchange);
  }

  keepEvent(exchange: KeptExchange, event: EventView): void {
    if (exchange.dropped) return;
    const { list, bytes, dropped } = this.#append(exchange.events, event);
    exchange.events = list;
    exchange.droppedEvents += dropped;
    this.hold(exchange, bytes);
    this.changed(exchange);
  }

  /** The list is one of ours, or the shared empty one. */
  #append<Item extends FrameView | EventView>(before: readonly Item[], item: Item) {
    const list = before.length === 0 ? [item] : (before as Item[]);
    if (before.length > 0) list.push(item);
    const oldest = list.length > this.#limits.frames ? list.shift() : undefined;
    return { list, bytes: costOf(item) - (oldest === undefined ? 0 : costOf(oldest)), dropped: oldest === undefined ? 0 : 1 };
  }

  changed(exchange: KeptExchange): void {
    if (this.#listeners.size === 0 || exchange.dropped) return;
    for (const listener of this.#listeners) listener.changed(exchange);
  }

  listen(listener: LogListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  clear(): void {
    const ids = [...this.all()].map(({ id }) => id);
    while (this.#kept.size > 0) this.#drop(0);
    for (const listener of this.#listeners) listener.removed(ids);
  }

  /** Finished ones go first: a WebSocket that is open for hours stays in the list. */
  #dropOldest(): void {
    let index = 0;
    while (this.#kept.at(index)?.state === 'open') index++;
    const { id } = this.#drop(index < this.#kept.size ? index : 0);
    this.droppedCount++;
    for (const listener of this.#listeners) listener.removed([id]);
  }

  #drop(index: number): KeptExchange {
    const exchange = this.#kept.at(index) as KeptExchange;
    exchange.dropped = true;
    this.keptBytes -= exchange.heldBytes;
    this.#kept.remove(index);
    return exchange;
  }
}

/** UTF-16 units take up to two bytes; the object itself some 100. */
const costOf = (item: FrameView | EventView): number =>
  'from' in item
    ? 100 + 2 * (item.text ?? item.base64 ?? '').length
    : 100 + 2 * (item.data.length + item.event.length + item.lastEventId.length);

/** Copies a piece and returns how many bytes it allocated. The first chunk is as large as its piece, later ones double. */
function append(body: KeptBody, bytes: Buffer, from: number, to: number): number {
  const fits = Math.min(body.freeBytes, to - from);
  if (fits > 0) {
    const last = body.chunks.at(-1) as Buffer;
    bytes.copy(last, last.length - body.freeBytes, from, from + fits);
    body.freeBytes -= fits;
  }
  const restBytes = to - from - fits;
  const size = restBytes === 0 ? 0 : Math.max(restBytes, Math.min(body.keptBytes, maxChunkBytes));
  if (body.chunks.length === 0 && size <= maxTextBytes) body.chunks = [bytes.toString('latin1', from, to)];
  else if (size > 0) {
    const chunk = Buffer.allocUnsafeSlow(size);
    bytes.copy(chunk, 0, from + fits, to);
    body.chunks = [...body.chunks, chunk];
    body.freeBytes = size - restBytes;
  }
  body.keptBytes += to - from;
  return size;
}
