// The state of one region as its edges should have it: numbered changes, the last of them kept so that an edge that
// was away for a moment needs no snapshot, and the record of what the edges have acknowledged.

import { randomUUID } from 'node:crypto';
import type { FeedState, FeedTunnel, ToEdge } from '@underpass/wire/feed.ts';
import { readySeq, type SentCertificate } from './core/liveness.ts';
import { type Change, diffStates, emptyState, type IndexedState, indexState } from './core/state-diff.ts';

/** Changes kept for edges that come back. Older ones cost a snapshot. */
const keptChanges = 256;

export interface RegionTunnel extends FeedTunnel {
  /** The hosts at the last acknowledgement, joined by commas; null before the first. */
  readonly liveHosts: string | null;
}

export type RegionContent = Omit<FeedState, 'tunnels' | 'peers'> & { readonly tunnels: readonly RegionTunnel[] };

export interface LiveMark {
  readonly tunnelId: string;
  readonly hosts: string;
}

export const joinHosts = (hosts: readonly string[]): string => [...hosts].sort().join(',');

type Numbered = Extract<ToEdge, { type: 'snapshot' | 'delta' }>;

export interface RegionState {
  readonly epoch: string;
  readonly seq: () => number;
  /** Takes new content; answers with the message for edges that are up to date, or undefined when nothing changed. */
  readonly update: (content: RegionContent, peers: FeedState['peers']) => Numbered | undefined;
  /** What brings an edge from the number it holds (of this epoch, or undefined) to now. */
  readonly catchUp: (held: number | undefined) => readonly Numbered[];
  /** An edge holds everything up to this number: the tunnels that are live because of it, each told once. */
  readonly acknowledge: (seq: number, nowMs: number) => readonly LiveMark[];
}

interface Route {
  readonly tunnel: FeedTunnel;
  readonly seq: number;
  live: boolean;
}

const withoutMark = ({ liveHosts: _, ...tunnel }: RegionTunnel): FeedTunnel => tunnel;

export function createRegionState(): RegionState {
  const epoch = randomUUID();
  let seq = 0;
  let state: FeedState = emptyState;
  let index: IndexedState = indexState(state);
  const changes: { readonly seq: number; readonly change: Change }[] = [];
  const routes = new Map<string, Route>();
  const certificates = new Map<string, SentCertificate>();
  /** Routes that no edge has acknowledged yet: what an acknowledgement has to look at. */
  const waiting = new Set<string>();

  const noteRoutes = (tunnels: readonly RegionTunnel[], change: Change): void => {
    const marks = new Map(tunnels.map((tunnel) => [tunnel.id, tunnel.liveHosts]));
    for (const tunnel of change.put.tunnels ?? []) {
      const known = routes.get(tunnel.id);
      const hosts = joinHosts(tunnel.hosts);
      const sameHosts = known !== undefined && joinHosts(known.tunnel.hosts) === hosts;
      const live = sameHosts ? known.live : marks.get(tunnel.id) === hosts;
      routes.set(tunnel.id, { tunnel, seq: sameHosts ? known.seq : seq, live });
      if (!live && tunnel.hosts.length > 0) waiting.add(tunnel.id);
    }
    for (const id of change.drop.tunnels ?? []) {
      routes.delete(id);
      waiting.delete(id);
    }
  };

  const noteCertificates = (change: Change): void => {
    for (const { id, hosts, notAfterMs } of change.put.certificates ?? []) certificates.set(id, { hosts, notAfterMs, seq });
    for (const id of change.drop.certificates ?? []) certificates.delete(id);
  };

  const update = (content: RegionContent, peers: FeedState['peers']): Numbered | undefined => {
    const next: FeedState = { ...content, tunnels: content.tunnels.map(withoutMark), peers };
    const nextIndex = indexState(next);
    const change = diffStates(index, nextIndex);
    if (change === undefined) return undefined;
    seq += 1;
    state = next;
    index = nextIndex;
    changes.push({ seq, change });
    if (changes.length > keptChanges) changes.shift();
    noteRoutes(content.tunnels, change);
    noteCertificates(change);
    return { type: 'delta', seq, ...change };
  };

  const catchUp = (held: number | undefined): readonly Numbered[] => {
    const oldest = changes[0]?.seq ?? seq + 1;
    const near = held !== undefined && held <= seq && held >= oldest - 1;
    if (!near) return [{ type: 'snapshot', seq, state }];
    return changes.filter((each) => each.seq > held).map((each) => ({ type: 'delta' as const, seq: each.seq, ...each.change }));
  };

  const acknowledge = (acked: number, nowMs: number): readonly LiveMark[] => {
    const marks: LiveMark[] = [];
    if (waiting.size === 0) return marks;
    const sent = [...certificates.values()];
    for (const id of waiting) {
      const route = routes.get(id);
      const ready = route === undefined ? undefined : readySeq(route.tunnel, route.seq, sent, nowMs);
      if (route === undefined || ready === undefined || ready > acked) continue;
      route.live = true;
      waiting.delete(id);
      marks.push({ tunnelId: id, hosts: joinHosts(route.tunnel.hosts) });
    }
    return marks;
  };

  return { epoch, seq: () => seq, update, catchUp, acknowledge };
}
