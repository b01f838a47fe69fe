// Brings region states up to date with the store: what changed at once, everything from time to time. One reading at
// a time; what is asked for meanwhile is gathered for the next.

import type { FeedCertificate, FeedPeer, FeedTunnel } from '@underpass/wire/feed.ts';
import type { KeyRing } from '../secret/key-ring.ts';
import type { Store } from '../store/store.ts';
import { servingNames } from './core/liveness.ts';
import {
  type RegionNames,
  readAllCertificates,
  readAllTunnels,
  readCertificatesFor,
  readChallenges,
  readRegions,
  readTunnels,
  type StoredTunnel,
} from './region-content.ts';
import type { RegionFeed } from './region-feed.ts';
import type { Marks } from './region-state.ts';

/** More changed tunnels than this are cheaper read all together. */
const maxGathered = 5_000;

export interface RefreshDeps {
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly clock: () => number;
  readonly givenCertificates: () => readonly FeedCertificate[];
  readonly peersOf: (region: string) => readonly FeedPeer[];
  /** The feed of a region, made when it is first seen. */
  readonly feedOf: (region: string) => RegionFeed;
  readonly feeds: () => readonly (readonly [string, RegionFeed])[];
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

export const marksOf = (tunnels: readonly StoredTunnel[]): Marks =>
  new Map(tunnels.flatMap(({ tunnel, mark }) => (mark === null ? [] : [[tunnel.id, mark] as const])));

const hostsOf = (tunnels: readonly FeedTunnel[]): string[] =>
  tunnels.filter((tunnel) => tunnel.type === 'http').flatMap((tunnel) => tunnel.hosts);

/** The names whose certificates a region needs. */
function neededNames(tunnels: readonly FeedTunnel[], names: RegionNames | undefined): ReadonlySet<string> {
  const own =
    names === undefined ? [] : [names.dataPlaneHost, ...(names.wildcardDomain === null ? [] : [`*.${names.wildcardDomain}`])];
  return new Set([...own, ...hostsOf(tunnels).flatMap(servingNames)]);
}

export function createRefresh(deps: RefreshDeps): Refresh {
  const { store, keyRing, clock } = deps;
  let asked = nothing();
  let running: Promise<void> | undefined;

  const refreshSome = async (ids: readonly string[]): Promise<void> => {
    const found = await readTunnels(store.db, ids, clock());
    const certificates = await readCertificatesFor(store.db, keyRing, hostsOf(found.map((each) => each.tunnel)), clock());
    const byRegion = Map.groupBy(found, (each) => each.region);
    for (const region of byRegion.keys()) deps.feedOf(region);
    for (const [region, feed] of deps.feeds()) {
      const tunnels = byRegion.get(region) ?? [];
      const values = tunnels.map((each) => each.tunnel);
      const needed = neededNames(values, undefined);
      const served = certificates.filter((certificate) => certificate.hosts.some((host) => needed.has(host)));
      const patches = [
        { part: 'tunnels' as const, ids, values },
        { part: 'certificates' as const, ids: [], values: served },
      ];
      feed.publish(feed.state.patch(patches, marksOf(tunnels)));
    }
  };

  const refreshChallenges = async (): Promise<void> => {
    const challenges = await readChallenges(store.db, keyRing, clock());
    for (const [region, feed] of deps.feeds()) feed.publish(feed.state.replacePart('challenges', challenges.get(region) ?? []));
  };

  const refreshEverything = async (): Promise<void> => {
    const [regions, tunnels, certificates] = await Promise.all([
      readRegions(store.db),
      readAllTunnels(store.db, clock()),
      readAllCertificates(store.db, keyRing, clock()),
    ]);
    const challenges = await readChallenges(store.db, keyRing, clock());
    for (const names of regions) deps.feedOf(names.region);
    const byRegion = Map.groupBy(tunnels, (each) => each.region);
    for (const [region, feed] of deps.feeds()) {
      const stored = byRegion.get(region) ?? [];
      const values = stored.map((each) => each.tunnel);
      const needed = neededNames(
        values,
        regions.find((each) => each.region === region),
      );
      const served = certificates.filter((certificate) => certificate.hosts.some((host) => needed.has(host)));
      const state = {
        tunnels: values,
        certificates: [...deps.givenCertificates(), ...served],
        challenges: challenges.get(region) ?? [],
        peers: deps.peersOf(region),
      };
      feed.publish(feed.state.replace(state, marksOf(stored)));
    }
  };

  const runOnce = async (): Promise<void> => {
    const { ids, challenges, everything } = asked;
    asked = nothing();
    if (everything || ids.size > maxGathered) return refreshEverything();
    if (challenges) await refreshChallenges();
    if (ids.size > 0) await refreshSome([...ids]);
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
