// Reads the store and brings the region states up to date with it, and through them the edges.

import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedCertificate } from '@underpass/wire/feed.ts';
import type { KeyRing } from '../secret/key-ring.ts';
import { piecesOf } from '../store/pieces.ts';
import type { Store } from '../store/store.ts';
import { addNeeded, type NamesByRegion, ownNames, type RegionNames, tlsHosts } from './core/needed-names.ts';
import {
  idsAtOnce,
  readAllCertificates,
  readCertificatesFor,
  readCertificatesNamed,
  readChallenges,
  readRegions,
  readTunnelPage,
  readTunnels,
  type StoredTunnel,
} from './region-content.ts';
import type { Marks } from './region-state.ts';
import type { Regions } from './regions.ts';

export interface StateReaderDeps {
  readonly store: Store;
  readonly keyRing: KeyRing;
  /** Control's public address without a trailing slash. */
  readonly origin: string;
  readonly clock: () => number;
  readonly givenCertificates: () => readonly FeedCertificate[];
  readonly regions: Pick<Regions, 'open' | 'all' | 'publishPeers'>;
  /** Tunnels that are live by what the store says, and were not known to be. */
  readonly onLive: (tunnelIds: readonly string[]) => void;
  /** A timer; for tests. */
  readonly rest?: (ms: number) => Promise<unknown>;
}

const marksOf = (tunnels: readonly StoredTunnel[]): Marks =>
  new Map(tunnels.flatMap(({ tunnel, mark }) => (mark === null ? [] : [[tunnel.id, mark] as const])));

export class StateReader {
  readonly #deps: StateReaderDeps;
  /** From the last reading of everything, and from all changes since it began. */
  #needed: NamesByRegion = new Map();
  /** The same of the reading that is under way. */
  #gathered: NamesByRegion = new Map();
  /** Everything was read once: from then on, calls of the API need the processor too. */
  #rests = false;

  constructor(deps: StateReaderDeps) {
    this.#deps = deps;
  }

  /** In pages: thousands of tunnels with long lists would not fit one message, and could not be suspended. */
  async tunnels(ids: readonly string[]): Promise<void> {
    for (const some of piecesOf(ids, idsAtOnce)) await this.#page(some);
  }

  /** New ones by name. An older one of the same name leaves with the next reading of everything. */
  async certificates(names: readonly string[]): Promise<void> {
    const { store, keyRing, clock, regions } = this.#deps;
    const found = await readCertificatesNamed(store.db, keyRing, names, clock());
    const served = this.#servedIn(await readRegions(store.db), found);
    for (const [region, feed] of regions.all()) feed.publish(feed.state.patch('certificates', [], served(region)));
  }

  async challenges(): Promise<void> {
    const { store, keyRing, clock, regions } = this.#deps;
    const challenges = await readChallenges(store.db, keyRing, clock());
    for (const [region, feed] of regions.all()) {
      feed.publish(feed.state.replacePart('challenges', challenges.get(region) ?? []));
    }
  }

  /** `between` runs after each page, so that a small change does not wait for all of them. */
  async everything(between: () => Promise<void>): Promise<void> {
    const { store, regions } = this.#deps;
    const names = await readRegions(store.db);
    for (const { region } of names) regions.open(region);
    await this.#allTunnels(between);
    await this.#allCertificates(names);
    await this.challenges();
    for (const [region] of regions.all()) regions.publishPeers(region);
  }

  async #page(ids: readonly string[]): Promise<void> {
    const { store, keyRing, clock, regions } = this.#deps;
    const found = await readTunnels(store.db, this.#deps, ids, clock());
    const hosts = found.flatMap(({ tunnel }) => tlsHosts(tunnel));
    const certificates = await readCertificatesFor(store.db, keyRing, hosts, clock());
    const names: NamesByRegion = new Map();
    for (const { region, tunnel } of found)
      for (const each of [names, this.#needed, this.#gathered]) addNeeded(each, region, tunnel);
    // Certificates first: an edge serves a route as soon as it knows it.
    for (const [region, served] of names) {
      const feed = regions.open(region);
      const values = certificates.filter((each) => each.hosts.some((host) => served.has(host)));
      feed.publish(feed.state.patch('certificates', [], values));
    }
    this.#putTunnels(ids, found);
  }

  #putTunnels(ids: readonly string[], found: readonly StoredTunnel[]): void {
    const { regions, onLive } = this.#deps;
    const byRegion = Map.groupBy(found, (each) => each.region);
    for (const region of byRegion.keys()) regions.open(region);
    for (const [region, feed] of regions.all()) {
      const { state } = feed;
      const tunnels = byRegion.get(region) ?? [];
      const values = tunnels.map((each) => each.tunnel);
      if (tunnels[0] !== undefined) state.dialledHost = tunnels[0].dataPlaneHost;
      const idle = values.map((each) => each.id).filter((id) => !state.isLive(id));
      feed.publish(state.patch('tunnels', ids, values, marksOf(tunnels)));
      onLive(idle.filter((id) => state.isLive(id)));
    }
  }

  async #allTunnels(between: () => Promise<void>): Promise<void> {
    const { store, clock, regions, rest = sleep } = this.#deps;
    const gone = new Set([...regions.all()].flatMap(([, feed]) => [...feed.state.ids('tunnels')]));
    this.#gathered = new Map();
    for (let last: string | undefined = ''; last !== undefined; ) {
      const beganMs = performance.now();
      const page = await readTunnelPage(store.db, this.#deps, last, clock());
      const ids = page.map((each) => each.tunnel.id);
      this.#putTunnels(ids, page);
      for (const { region, tunnel } of page) addNeeded(this.#gathered, region, tunnel);
      for (const id of ids) gone.delete(id);
      await between();
      // Rests as long as the page took: without a rest, each of a call's turns of the event loop waits for a page.
      await rest(this.#rests ? performance.now() - beganMs : 0);
      last = ids.at(-1);
    }
    this.#rests = true;
    this.#needed = this.#gathered;
    await this.tunnels([...gone]);
  }

  async #allCertificates(names: readonly RegionNames[]): Promise<void> {
    const { store, keyRing, clock, regions, givenCertificates } = this.#deps;
    const certificates = await readAllCertificates(store.db, keyRing, clock());
    const served = this.#servedIn(names, certificates);
    for (const [region, feed] of regions.all())
      feed.publish(feed.state.replacePart('certificates', [...givenCertificates(), ...served(region)]));
  }

  /** Those that a region's edges need. */
  #servedIn(names: readonly RegionNames[], certificates: readonly FeedCertificate[]) {
    return (region: string): readonly FeedCertificate[] => {
      const own = names.filter((each) => each.region === region).flatMap(ownNames);
      const needed = this.#needed.get(region);
      return certificates.filter(({ hosts }) => hosts.some((host) => own.includes(host) || needed?.has(host)));
    };
  }
}
