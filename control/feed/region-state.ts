// The state of one region as its edges should have it: numbered changes, the last of them kept so that an edge that
// was away for a moment needs no snapshot, and the record of what the edges have acknowledged.

import { randomUUID } from 'node:crypto';
import type { FeedTunnel, ToEdge } from '@underpass/wire/feed.ts';
import { certifiedSeq, readySeq } from './core/liveness.ts';
import {
  applyChange,
  type Change,
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

/** Changes kept for edges that come back. Older ones cost a snapshot. */
const keptChanges = 256;
/** Changes are numbered from here; the numbers below are for the pieces of a snapshot that is too large for one message. */
const firstSeq = 1_000;
/** A message may have 64 MiB (wire/feed-stream.ts): a snapshot is cut at half of that, counted in characters. */
const snapshotChars = 32 * 1024 * 1024;

/** What an edge has already acknowledged, from the store: tunnel id to its hosts, joined. */
export type Marks = ReadonlyMap<string, string>;

export interface LiveMark {
  readonly tunnelId: string;
  readonly hosts: string;
}

export type Numbered = Extract<ToEdge, { type: 'snapshot' | 'delta' }>;

/** Some ids of one part and what is now under them; an id without a value is forgotten. */
export interface Patch {
  readonly part: FeedPart;
  readonly ids: readonly string[];
  readonly values: readonly object[];
}

export interface RegionState {
  readonly epoch: string;
  readonly seq: () => number;
  readonly has: (part: FeedPart, id: string) => boolean;
  readonly ids: (part: FeedPart) => Iterable<string>;
  /** Answers with the message for edges that are up to date; undefined when nothing changed. */
  readonly patch: (patches: readonly Patch[], marks: Marks) => Numbered | undefined;
  /** One part anew. */
  readonly replacePart: (part: FeedPart, values: readonly object[]) => Numbered | undefined;
  /** What brings an edge from the number it holds (of this epoch, or undefined) to now. */
  readonly catchUp: (held: number | undefined) => readonly Numbered[];
  /** The host of the region that clients dial: without a certificate for it no tunnel can be used. */
  readonly dialledAt: (host: string) => void;
  /** The edges here hold everything up to this number: the tunnels that they can serve because of it, each told once. */
  readonly acknowledge: (seq: number, nowMs: number) => readonly LiveMark[];
  /** The edges of the whole region hold these. */
  readonly markLive: (marks: readonly LiveMark[]) => void;
  readonly isLive: (tunnelId: string) => boolean;
}

interface Route {
  readonly tunnel: FeedTunnel;
  readonly seq: number;
  live: boolean;
}

/**
 * Routes first, then the certificates that did not fit. Only the last piece has a number that a change may have: an edge
 * that was cut off before it holds none from which changes lead on, and gets a snapshot again.
 */
function cutSnapshot(index: IndexedState, seq: number): readonly Numbered[] {
  const pieces = splitIndex(index, snapshotChars).map(stateOf);
  return pieces.map((state, at) => {
    const isLast = at === pieces.length - 1;
    const numbered = isLast ? { seq } : { seq: at + 1, more: true };
    return at === 0 ? { type: 'snapshot', ...numbered, state } : { type: 'delta', ...numbered, put: state, drop: {} };
  });
}

const noMarks: Marks = new Map();
const joinHosts = (hosts: readonly string[]): string => [...hosts].sort().join(',');

export function createRegionState(): RegionState {
  const epoch = randomUUID();
  let seq = firstSeq;
  const index = emptyIndex();
  const changes: { readonly seq: number; readonly change: Change }[] = [];
  const routes = new Map<string, Route>();
  const certificates = createSentCertificates();
  /** Routes that the edges here have not acknowledged yet: what an acknowledgement has to look at. */
  const waiting = new Set<string>();
  /** Of this region; empty until a tunnel of it is known. */
  let dialled: readonly string[] = [];

  const noteRoute = (tunnel: FeedTunnel, mark: string | undefined): void => {
    const known = routes.get(tunnel.id);
    const hosts = joinHosts(tunnel.hosts);
    const sameHosts = known !== undefined && joinHosts(known.tunnel.hosts) === hosts;
    const live = sameHosts ? known.live : mark === hosts;
    routes.set(tunnel.id, { tunnel, seq: sameHosts ? known.seq : seq, live });
    if (live || tunnel.hosts.length === 0) waiting.delete(tunnel.id);
    else waiting.add(tunnel.id);
  };

  const noteChange = (change: Change, marks: Marks): void => {
    for (const tunnel of change.put.tunnels ?? []) noteRoute(tunnel, marks.get(tunnel.id));
    for (const id of change.drop.tunnels ?? []) {
      routes.delete(id);
      waiting.delete(id);
    }
    for (const certificate of change.put.certificates ?? []) certificates.put(certificate, seq);
    for (const id of change.drop.certificates ?? []) certificates.drop(id);
  };

  const commit = (parts: readonly PartChange[], marks: Marks): Numbered | undefined => {
    const change = diffParts(parts);
    if (change === undefined) return undefined;
    seq += 1;
    applyChange(index, change);
    changes.push({ seq, change });
    if (changes.length > keptChanges) changes.shift();
    noteChange(change, marks);
    return { type: 'delta', seq, ...change };
  };

  const patchOf = ({ part, ids, values }: Patch): PartChange => {
    const to = indexPart(values);
    const held = [...new Set([...ids, ...to.keys()])].flatMap((id) => {
      const entry = index[part].get(id);
      return entry === undefined ? [] : [[id, entry] as const];
    });
    return { part, from: new Map(held), to };
  };

  const catchUp = (held: number | undefined): readonly Numbered[] => {
    const oldest = changes[0]?.seq ?? seq + 1;
    const near = held !== undefined && held <= seq && held >= oldest - 1;
    if (!near) return cutSnapshot(index, seq);
    return changes.filter((each) => each.seq > held).map((each) => ({ type: 'delta' as const, seq: each.seq, ...each.change }));
  };

  const acknowledge = (acked: number, nowMs: number): readonly LiveMark[] => {
    const dialSeq = certifiedSeq(dialled, 0, certificates.named, nowMs);
    if (dialSeq === undefined || dialSeq > acked) return [];
    return [...waiting].flatMap((id) => {
      const route = routes.get(id);
      const needed = route === undefined ? undefined : readySeq(route.tunnel, route.seq, certificates.named, nowMs);
      if (route === undefined || needed === undefined || needed > acked) return [];
      waiting.delete(id);
      return [{ tunnelId: id, hosts: joinHosts(route.tunnel.hosts) }];
    });
  };

  const markLive = (marks: readonly LiveMark[]): void => {
    for (const { tunnelId, hosts } of marks) {
      const route = routes.get(tunnelId);
      if (route === undefined || joinHosts(route.tunnel.hosts) !== hosts) continue;
      route.live = true;
      waiting.delete(tunnelId);
    }
  };

  return {
    epoch,
    seq: () => seq,
    has: (part, id) => index[part].has(id),
    ids: (part) => index[part].keys(),
    patch: (patches, marks) => {
      const message = commit(patches.map(patchOf), marks);
      // Also of routes that are as they were: the news that they are live may have been lost, or have come before them.
      markLive([...marks].map(([tunnelId, hosts]) => ({ tunnelId, hosts })));
      return message;
    },
    replacePart: (part, values) => commit([{ part, from: index[part], to: indexPart(values) }], noMarks),
    catchUp,
    dialledAt: (host) => {
      dialled = [host];
    },
    acknowledge,
    markLive,
    isLive: (tunnelId) => routes.get(tunnelId)?.live ?? false,
  };
}
