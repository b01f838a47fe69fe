// Brings region states up to date with the store: what changed at once, everything from time to time. One reading at
// a time; what is asked for meanwhile is gathered for the next.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { tunnelTypes } from '@underpass/rules/tunnel-type.ts';
import type { FeedCertificate, FeedPeer, FeedTunnel } from '@underpass/wire/feed.ts';
import type { KeyRing } from '../secret/key-ring.ts';
import type { Store } from '../store/store.ts';
import { servingNames } from './core/liveness.ts';
import {
  idsAtOnce,
  type RegionNames,
  readAllCertificates,
  readCertificatesFor,
  readChallenges,
  readRegions,
  readTunnelPage,
  readTunnels,
  type StoredTunnel,
} from './region-content.ts';
import type { RegionFeed } from './region-feed.ts';
import type { Marks } from './region-state.ts';

export interface RefreshDeps {
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly clock: () => number;
  readonly givenCertificates: () => readonly FeedCertificate[];
  readonly peersOf: (region: string) => readonly FeedPeer[];
  /** The feed of a region, made when it is first seen. */
  readonly feedOf: (region: string) => RegionFeed;
  readonly feeds: () => readonly (readonly [string, RegionFeed])[];
  /** Tunnels that are live by what the store says, and were not known to be. */
  readonly onLive: (tunnelIds: readonly string[]) => void;
  /** Everything was read. */
  readonly onWhole: () => void;
  readonly onError: (error: unknown) => void;
}

export interface Refresh {
  readonly tunnels: (ids: readonly string[]) => void;
  readonly challenges: () => void;
  readonly everything: () => void;
  /** Resolves when all that was asked for is done. */
  readonly idle: () => Promise<void>;
}

interface Asked {
  readonly ids: Set<string>;
  challenges: boolean;
  everything: boolean;
}

const nothing = (): Asked => ({ ids: new Set(), challenges: false, everything: false });

const marksOf = (tunnels: readonly StoredTunnel[]): Marks =>
  new Map(tunnels.flatMap(({ tunnel, mark }) => (mark === null ? [] : [[tunnel.id, mark] as const])));

const noMarks: Marks = new Map();

const hostsOf = (tunnels: readonly FeedTunnel[]): string[] =>
  tunnels.filter((tunnel) => tunnelTypes[tunnel.type].edgeEndsTls).flatMap((tunnel) => tunnel.hosts);

/** By region, the names whose certificates its tunnels need. */
type Names = Map<string, Set<string>>;

function addNames(names: Names, region: string, tunnel: FeedTunnel): void {
  const needed = names.get(region) ?? new Set<string>();
  names.set(region, needed);
  for (const name of hostsOf([tunnel]).flatMap(servingNames)) needed.add(name);
}

/** The names of a region itself. */
const ownNames = (names: RegionNames | undefined): readonly string[] =>
  names === undefined
    ? []
    : [
        names.dataPlaneHost,
        ...(names.wildcardDomain === null ? [] : [`*.${names.wildcardDomain}`]),
        ...(names.consoleHost === null ? [] : servingNames(names.consoleHost)),
      ];

export function createRefresh(deps: RefreshDeps): Refresh {
  const { store, keyRing, clock } = deps;
  let asked = nothing();
  /** Of the last reading of everything, and of what has changed since it began. */
  let needed: Names = new Map();
  let running: Promise<void> | undefined;

  /** As everything is: whoever has thousands of tunnels with long lists would not fit one message, and could not be suspended. */
  const refreshSome = async (ids: readonly string[]): Promise<void> => {
    for (let from = 0; from < ids.length; from += idsAtOnce) await refreshPage(ids.slice(from, from + idsAtOnce));
  };

  const refreshPage = async (ids: readonly string[]): Promise<void> => {
    const found = await readTunnels(store.db, ids, clock());
    const certificates = await readCertificatesFor(store.db, keyRing, hostsOf(found.map((each) => each.tunnel)), clock());
    // Certificates first: a route is served from the moment that it is known.
    const names: Names = new Map();
    for (const { region, tunnel } of found) for (const each of [names, needed]) addNames(each, region, tunnel);
    for (const [region, served] of names) {
      const values = certificates.filter(({ hosts }) => hosts.some((host) => served.has(host)));
      const feed = deps.feedOf(region);
      feed.publish(feed.state.patch([{ part: 'certificates', ids: [], values }], noMarks));
    }
    putTunnels(ids, found);
  };

  const refreshChallenges = async (): Promise<void> => {
    const challenges = await readChallenges(store.db, keyRing, clock());
    for (const [region, feed] of deps.feeds()) feed.publish(feed.state.replacePart('challenges', challenges.get(region) ?? []));
  };

  const putTunnels = (ids: readonly string[], found: readonly StoredTunnel[]): void => {
    const byRegion = Map.groupBy(found, (each) => each.region);
    for (const region of byRegion.keys()) deps.feedOf(region);
    for (const [region, feed] of deps.feeds()) {
      const tunnels = byRegion.get(region) ?? [];
      const values = tunnels.map((each) => each.tunnel);
      if (tunnels[0] !== undefined) feed.state.dialledAt(tunnels[0].dataPlaneHost);
      const idle = values.map((each) => each.id).filter((id) => !feed.state.isLive(id));
      feed.publish(feed.state.patch([{ part: 'tunnels', ids, values }], marksOf(tunnels)));
      deps.onLive(idle.filter((id) => feed.state.isLive(id)));
    }
  };

  /** In pages, so that what changes meanwhile is not kept waiting, and nothing else of this process is. */
  const refreshTunnels = async (): Promise<void> => {
    const gone = new Set(deps.feeds().flatMap(([, feed]) => [...feed.state.ids('tunnels')]));
    needed = new Map();
    for (let last = ''; ; ) {
      const page = await readTunnelPage(store.db, last, clock());
      putTunnels(
        page.map((each) => each.tunnel.id),
        page,
      );
      for (const { region, tunnel } of page) {
        gone.delete(tunnel.id);
        addNames(needed, region, tunnel);
      }
      await refreshAsked();
      const end = page.at(-1)?.tunnel.id;
      if (end === undefined) break;
      last = end;
    }
    await refreshSome([...gone]);
  };

  const refreshCertificates = async (regions: readonly RegionNames[]): Promise<void> => {
    const certificates = await readAllCertificates(store.db, keyRing, clock());
    for (const [region, feed] of deps.feeds()) {
      const own = ownNames(regions.find((each) => each.region === region));
      const names = needed.get(region);
      const served = certificates.filter(({ hosts }) => hosts.some((host) => own.includes(host) || names?.has(host)));
      feed.publish(feed.state.replacePart('certificates', [...deps.givenCertificates(), ...served]));
    }
  };

  const refreshEverything = async (): Promise<void> => {
    const regions = await readRegions(store.db);
    for (const { region } of regions) deps.feedOf(region);
    await refreshTunnels();
    await refreshCertificates(regions);
    await refreshChallenges();
    for (const [region, feed] of deps.feeds()) feed.publish(feed.state.replacePart('peers', deps.peersOf(region)));
    deps.onWhole();
  };

  /** What was asked for by name. */
  const refreshAsked = async (): Promise<void> => {
    const { ids, challenges } = asked;
    asked = { ...nothing(), everything: asked.everything };
    if (challenges) await refreshChallenges();
    await refreshSome([...ids]);
    await nextTurn();
  };

  const runOnce = async (): Promise<void> => {
    const { everything } = asked;
    asked.everything = false;
    if (everything) await refreshEverything();
    await refreshAsked();
  };

  const isAsked = (): boolean => asked.everything || asked.challenges || asked.ids.size > 0;

  const run = async (): Promise<void> => {
    while (isAsked()) await runOnce().catch(deps.onError);
    running = undefined;
  };

  const ask = (): void => {
    running ??= Promise.resolve().then(run);
  };

  return {
    tunnels: (ids) => {
      for (const id of ids) asked.ids.add(id);
      ask();
    },
    challenges: () => {
      asked.challenges = true;
      ask();
    },
    everything: () => {
      asked.everything = true;
      ask();
    },
    idle: async () => {
      while (running !== undefined) await running;
    },
  };
}
