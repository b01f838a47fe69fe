// The difference between two states of a region, as the delta that takes an edge from one to the other. Pure.

import type { FeedState, ToEdge } from '@underpass/wire/feed/feed.ts';

type Delta = Extract<ToEdge, { type: 'delta' }>;
export type Change = Pick<Delta, 'put' | 'drop'>;

/** Blocks first: an edge that starts refuses them before it serves anybody. */
export const feedParts = ['blocks', 'tunnels', 'certificates', 'challenges', 'peers'] as const;
export type FeedPart = (typeof feedParts)[number];

interface Entry {
  readonly value: unknown;
  /** Equal texts mean an unchanged value. */
  readonly text: string;
}

/** One part of the state, by id. */
type Index = Map<string, Entry>;
export type IndexedState = Readonly<Record<FeedPart, Index>>;

const idOf = (value: object): string => String('edgeId' in value ? value.edgeId : (value as { id?: unknown }).id);

export const indexPart = (values: readonly object[]): Index =>
  new Map(values.map((value) => [idOf(value), { value, text: JSON.stringify(value) }]));

export const emptyIndex = (): IndexedState => ({
  blocks: new Map(),
  tunnels: new Map(),
  certificates: new Map(),
  challenges: new Map(),
  peers: new Map(),
});

export const stateOf = (index: IndexedState): FeedState =>
  Object.fromEntries(
    feedParts.map((part) => [part, [...index[part].values()].map((entry) => entry.value)]),
  ) as unknown as FeedState;

/** Some entries of a part before and after: an id that is missing from `to` is deleted. */
export interface PartChange {
  readonly part: FeedPart;
  readonly from: ReadonlyMap<string, Entry>;
  readonly to: ReadonlyMap<string, Entry>;
}

/** Undefined when nothing changed. */
export function diffParts(changes: readonly PartChange[]): Change | undefined {
  const put: Record<string, unknown[]> = {};
  const drop: Record<string, string[]> = {};
  for (const { part, from, to } of changes) {
    const values = [...to].filter(([id, entry]) => from.get(id)?.text !== entry.text).map(([, entry]) => entry.value);
    const ids = [...from.keys()].filter((id) => !to.has(id));
    if (values.length > 0) put[part] = values;
    if (ids.length > 0) drop[part] = ids;
  }
  const same = Object.keys(put).length === 0 && Object.keys(drop).length === 0;
  return same ? undefined : { put, drop };
}

/** Changes the index in place, as an edge does with a delta. */
export function applyChange(index: IndexedState, change: Change): void {
  for (const part of feedParts) {
    for (const [id, entry] of indexPart(change.put[part] ?? [])) index[part].set(id, entry);
    for (const id of change.drop[part] ?? []) index[part].delete(id);
  }
}

/**
 * The entries, as they are at the first group, in groups of at most `maxChars`; a larger entry has a group of its own. At least
 * one group.
 */
export function* splitIndex(index: IndexedState, maxChars: number): Generator<IndexedState, void> {
  const entries = feedParts.map((part) => [part, [...index[part]]] as const);
  let group = emptyIndex();
  let chars = 0;
  for (const [part, held] of entries) {
    for (const [id, entry] of held) {
      if (chars > 0 && chars + entry.text.length > maxChars) {
        yield group;
        group = emptyIndex();
        chars = 0;
      }
      chars += entry.text.length;
      group[part].set(id, entry);
    }
  }
  yield group;
}

export function countChars(index: IndexedState): number {
  let chars = 0;
  for (const part of feedParts) for (const { text } of index[part].values()) chars += text.length;
  return chars;
}
