// The difference between two states of a region, as the delta that takes an edge from one to the other. Pure.

import type { FeedState, ToEdge } from '@underpass/wire/feed.ts';

type Delta = Extract<ToEdge, { type: 'delta' }>;
export type Change = Pick<Delta, 'put' | 'drop'>;

export const emptyState: FeedState = { tunnels: [], certificates: [], challenges: [], peers: [] };

/** One part of the state, by id, with the text that tells whether it changed. */
export type Index<T> = ReadonlyMap<string, { readonly value: T; readonly text: string }>;

export interface IndexedState {
  readonly tunnels: Index<FeedState['tunnels'][number]>;
  readonly certificates: Index<FeedState['certificates'][number]>;
  readonly challenges: Index<FeedState['challenges'][number]>;
  readonly peers: Index<FeedState['peers'][number]>;
}

function indexBy<T>(values: readonly T[], idOf: (value: T) => string): Index<T> {
  return new Map(values.map((value) => [idOf(value), { value, text: JSON.stringify(value) }]));
}

export function indexState(state: FeedState): IndexedState {
  return {
    tunnels: indexBy(state.tunnels, (tunnel) => tunnel.id),
    certificates: indexBy(state.certificates, (certificate) => certificate.id),
    challenges: indexBy(state.challenges, (challenge) => challenge.id),
    peers: indexBy(state.peers, (peer) => peer.edgeId),
  };
}

function changed<T>(from: Index<T>, to: Index<T>): T[] {
  const values: T[] = [];
  for (const [id, entry] of to) {
    if (from.get(id)?.text !== entry.text) values.push(entry.value);
  }
  return values;
}

const gone = <T>(from: Index<T>, to: Index<T>): string[] => [...from.keys()].filter((id) => !to.has(id));

const parts = ['tunnels', 'certificates', 'challenges', 'peers'] as const;

/** Undefined when nothing changed. */
export function diffStates(from: IndexedState, to: IndexedState): Change | undefined {
  const put: Record<string, unknown[]> = {};
  const drop: Record<string, string[]> = {};
  for (const part of parts) {
    const values = changed<unknown>(from[part], to[part]);
    const ids = gone<unknown>(from[part], to[part]);
    if (values.length > 0) put[part] = values;
    if (ids.length > 0) drop[part] = ids;
  }
  const same = Object.keys(put).length === 0 && Object.keys(drop).length === 0;
  return same ? undefined : { put, drop };
}
