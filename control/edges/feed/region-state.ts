// The state of one region as its edges should have it, in numbered changes, and which routes they have acknowledged. The last
// changes are kept, so that an edge that was away for a moment needs no snapshot.

import { randomUUID } from 'node:crypto';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { FeedTunnel, ToEdge } from '@underpass/wire/feed/feed.ts';
import { certifiedSeq, readySeq } from './core/liveness.ts';
import {
  applyChange,
  type Change,
  countChars,
  diffParts,
  emptyIndex,
  type FeedPart,
  type IndexedState,
  indexPart,
  type PartChange,
  splitIndex,
  stateOf,
} from './core/state-diff.ts';
import { createSentCertificates } from './sent-certificates.ts';

/** Changes kept for edges that come back. An edge that lacks older ones gets a snapshot. */
const keptChanges = 256;
/** Changes are numbered from here. Lower numbers are for the pieces of a snapshot. */
const firstSeq = 1_000;
/** A piece of a snapshot takes control and the edge two or three milliseconds each: other work goes on between the pieces. */
const pieceChars = 256 * 1024;
/** One of two pieces in a row is more than half full, so there are less than twice as many, which is below `firstSeq`. */
const mostFullPieces = 400;

/** What the edges have already acknowledged, from the store: tunnel id to its hosts, joined. */
export type Marks = ReadonlyMap<string, string>;

export interface LiveMark {
  readonly tunnelId: string;
  readonly hosts: string;
}

export type Numbered = Extract<ToEdge, { type: 'snapshot' | 'delta' }>;

interface Route {
  readonly tunnel: FeedTunnel;
  readonly seq: number;
  live: boolean;
}

/**
 * Routes first, then the certificates that did not fit. Only the last piece has the number of a change: an edge that is cut
 * off before it gets a snapshot again, because no change follows the number that it holds.
 */
function* cutSnapshot(index: IndexedState, seq: number): Generator<Numbered, void> {
  const groups = splitIndex(index, Math.max(pieceChars, Math.ceil(countChars(index) / mostFullPieces)));
  let group = groups.next();
  for (let at = 0; group.done !== true; at++) {
    const state = stateOf(group.value);
    group = groups.next();
    const numbered = group.done === true ? { seq } : { seq: at + 1, more: true };
    yield at === 0 ? { type: 'snapshot', ...numbered, state } : { type: 'delta', ...numbered, put: state, drop: {} };
  }
}

/** What the edges acknowledge of a tunnel. Empty for one that nothing leads to. */
const markOf = ({ type, hosts, port }: Pick<FeedTunnel, 'type' | 'hosts' | 'port'>): string =>
  tunnelTypes[type].foundBy === 'port' ? `:${port ?? ''}` : [...hosts].sort().join(',');

export class RegionState {
  readonly epoch = randomUUID();
  #seq = firstSeq;
  readonly #index = emptyIndex();
  readonly #changes: { readonly seq: number; readonly change: Change }[] = [];
  readonly #routes = new Map<string, Route>();
  readonly #certificates = createSentCertificates();
  /** Routes that the edges here have not acknowledged yet: an acknowledgement looks only at these. */
  readonly #waiting = new Set<string>();
  #dialledHosts: readonly string[] = [];

  get seq(): number {
    return this.#seq;
  }

  /** The host of the region that clients dial: without a certificate for it no tunnel can be used. */
  set dialledHost(host: string) {
    this.#dialledHosts = [host];
  }

  has(part: FeedPart, id: string): boolean {
    return this.#index[part].has(id);
  }

  ids(part: FeedPart): Iterable<string> {
    return this.#index[part].keys();
  }

  /** Ids of the certificates that serve a name. */
  certificateIds(name: string): readonly string[] {
    return this.#certificates.idsFor(name);
  }

  projectOf(tunnelId: string): string | undefined {
    return this.#routes.get(tunnelId)?.tunnel.projectId;
  }

  isLive(tunnelId: string): boolean {
    return this.#routes.get(tunnelId)?.live ?? false;
  }

  /**
   * Sets the values of some ids of a part, and forgets the ids without a value. Returns the message for edges that are up to
   * date, if anything changed.
   */
  patch(part: FeedPart, ids: readonly string[], values: readonly object[], marks: Marks = new Map()): Numbered | undefined {
    const to = indexPart(values);
    const held = [...new Set([...ids, ...to.keys()])].flatMap((id) => {
      const entry = this.#index[part].get(id);
      return entry === undefined ? [] : [[id, entry] as const];
    });
    const message = this.#commit({ part, from: new Map(held), to }, marks);
    // Also unchanged routes: the news that they are live may have been lost, or may have arrived before the routes.
    this.markLive([...marks].map(([tunnelId, hosts]) => ({ tunnelId, hosts })));
    return message;
  }

  /** Sets all values of a part; returns what `patch` returns. */
  replacePart(part: FeedPart, values: readonly object[]): Numbered | undefined {
    return this.#commit({ part, from: this.#index[part], to: indexPart(values) }, new Map());
  }

  /**
   * The messages that bring an edge from the number that it holds (of this epoch, or undefined) to the number of now. Each is made
   * when it is asked for, from the state as it was at the first.
   */
  catchUp(held: number | undefined): Iterable<Numbered> {
    const oldest = this.#changes[0]?.seq ?? this.#seq + 1;
    const near = held !== undefined && held <= this.#seq && held >= oldest - 1;
    if (!near) return cutSnapshot(this.#index, this.#seq);
    return this.#changes
      .filter((each) => each.seq > held)
      .map((each) => ({ type: 'delta' as const, seq: each.seq, ...each.change }));
  }

  /** The edges here hold everything up to this number. Returns the tunnels that they can now serve, each once. */
  acknowledge(acked: number, nowMs: number): readonly LiveMark[] {
    const { named } = this.#certificates;
    const isAcked = (seq: number | undefined): boolean => seq !== undefined && seq <= acked;
    if (!isAcked(certifiedSeq(this.#dialledHosts, 0, named, nowMs))) return [];
    return [...this.#waiting].flatMap((id) => {
      const route = this.#routes.get(id);
      if (route === undefined || !isAcked(readySeq(route.tunnel, route.seq, named, nowMs))) return [];
      this.#waiting.delete(id);
      return [{ tunnelId: id, hosts: markOf(route.tunnel) }];
    });
  }

  /** The edges of the whole region hold these. */
  markLive(marks: readonly LiveMark[]): void {
    for (const { tunnelId, hosts } of marks) {
      const route = this.#routes.get(tunnelId);
      if (route === undefined || markOf(route.tunnel) !== hosts) continue;
      route.live = true;
      this.#waiting.delete(tunnelId);
    }
  }

  #commit(part: PartChange, marks: Marks): Numbered | undefined {
    const change = diffParts([part]);
    if (change === undefined) return undefined;
    this.#seq += 1;
    applyChange(this.#index, change);
    this.#changes.push({ seq: this.#seq, change });
    if (this.#changes.length > keptChanges) this.#changes.shift();
    this.#noteChange(change, marks);
    return { type: 'delta', seq: this.#seq, ...change };
  }

  #noteChange(change: Change, marks: Marks): void {
    for (const tunnel of change.put.tunnels ?? []) this.#noteRoute(tunnel, marks.get(tunnel.id));
    for (const id of change.drop.tunnels ?? []) {
      this.#routes.delete(id);
      this.#waiting.delete(id);
    }
    for (const certificate of change.put.certificates ?? []) this.#certificates.put(certificate, this.#seq);
    for (const id of change.drop.certificates ?? []) this.#certificates.drop(id);
  }

  #noteRoute(tunnel: FeedTunnel, mark: string | undefined): void {
    const known = this.#routes.get(tunnel.id);
    const hosts = markOf(tunnel);
    const sameHosts = known !== undefined && markOf(known.tunnel) === hosts;
    const live = sameHosts ? known.live : mark === hosts;
    this.#routes.set(tunnel.id, { tunnel, seq: sameHosts ? known.seq : this.#seq, live });
    if (live || hosts === '') this.#waiting.delete(tunnel.id);
    else this.#waiting.add(tunnel.id);
  }
}
