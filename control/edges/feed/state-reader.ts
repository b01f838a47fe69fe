// Reads the store and brings the region states up to date with it, and through them the edges.

import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedBlock, FeedCertificate } from '@underpass/wire/feed/feed.ts';
import type { PlatformDeps } from '../../platform/deps.ts';
import { piecesOf } from '../../platform/store/pieces.ts';
import { isOwnId } from '../own-certificate/own-rows.ts';
import { readBlockPage, readBlocks, readBlocksNote } from './blocks.ts';
import { compileGiven } from './core/given-names.ts';
import { addNeeded, type NamesByRegion, ownNames, type RegionNames, tlsHosts } from './core/needed-names.ts';
import {
  type CertificateFacts,
  idsAtOnce,
  readCertificateFacts,
  readCertificateIds,
  readCertificates,
  readCertificatesFor,
  readCertificatesNamed,
  readChallenges,
  readRegions,
  readTunnelPage,
  readTunnels,
  type StoredTunnel,
} from './region-content.ts';
import type { Marks, RegionState } from './region-state.ts';
import type { Regions } from './regions.ts';

interface StateReaderDeps extends Pick<PlatformDeps, 'store' | 'keyRing' | 'clock'> {
  /** Control's public address without a trailing slash. */
  readonly origin: string;
  readonly givenCertificates: () => readonly FeedCertificate[];
  readonly regions: Pick<Regions, 'open' | 'all' | 'publishPeers'>;
  /** Tunnels that are live by what the store says, and were not known to be. */
  readonly onLive: (tunnelIds: readonly string[]) => void;
  /** A timer; for tests. */
  readonly rest?: (ms: number) => Promise<unknown>;
}

const marksOf = (tunnels: readonly StoredTunnel[]): Marks =>
  new Map(tunnels.flatMap(({ tunnel, mark }) => (mark === null ? [] : [[tunnel.id, mark] as const])));

/** Certificates that projects gave for these names and replaced or removed since: edges must not serve a key that was given up. */
function staleOwn(state: RegionState, names: ReadonlySet<string>, values: readonly FeedCertificate[]): readonly string[] {
  const present = new Set(values.map(({ id }) => id));
  return [...names].flatMap((name) => state.certificateIds(name)).filter((id) => isOwnId(id) && !present.has(id));
}

export class StateReader {
  readonly #deps: StateReaderDeps;
  /** Names from the last reading of everything, and from all changes since it began. */
  #needed: NamesByRegion = new Map();
  /** The same of the reading that is under way. */
  #gathered: NamesByRegion = new Map();
  /** Facts by id, of the last reading of all certificates. A renewal makes a new row: what is known of an id stays true. */
  #certificates: ReadonlyMap<string, CertificateFacts> = new Map();
  /** The note of the blocks that the edges of each region were sent. Undefined, as without a note: none. */
  readonly #blocksNotes = new Map<string, string | undefined>();
  /** Everything was read once: from then on, calls of the API need the processor too. */
  #rests = false;

  constructor(deps: StateReaderDeps) {
    this.#deps = deps;
  }

  /** Reads in pages: thousands of tunnels with long lists would not fit one message, and could not be suspended. */
  async tunnels(ids: readonly string[]): Promise<void> {
    for (const some of piecesOf(ids, idsAtOnce)) await this.#page(some);
  }

  /** New ones by name. An older one of the same name leaves with the next reading of everything. */
  async certificates(names: readonly string[]): Promise<void> {
    const { store, keyRing, clock } = this.#deps;
    const found = await readCertificatesNamed(store.db, keyRing, names, clock());
    this.#putCertificates(await readRegions(store.db), found);
  }

  async challenges(): Promise<void> {
    const { store, keyRing, clock, regions } = this.#deps;
    const challenges = await readChallenges(store.db, keyRing, clock());
    for (const [region, feed] of regions.all()) {
      feed.publish(feed.state.replacePart('challenges', challenges.get(region) ?? []));
    }
  }

  /** Puts or drops these. */
  async blocks(values: readonly string[]): Promise<void> {
    const { store, regions } = this.#deps;
    for (const some of piecesOf(values, idsAtOnce)) {
      const found = await readBlocks(store.db, some);
      for (const [, feed] of regions.all()) feed.publish(feed.state.patch('blocks', some, found));
    }
  }

  /** Skips regions that have them already. */
  async #allBlocks(): Promise<void> {
    const { store, regions } = this.#deps;
    const note = await readBlocksNote(store.db);
    const stale = [...regions.all()].filter(([region]) => this.#blocksNotes.get(region) !== note);
    if (stale.length === 0) return;
    const blocks: FeedBlock[] = [];
    const next = (after: string) => readBlockPage(store.db, after);
    for (let page = await next(''); page.length > 0; page = await next(page.at(-1)!.id)) {
      const beganMs = performance.now();
      blocks.push(...page);
      await this.#rest(beganMs);
    }
    for (const [region, feed] of stale) {
      feed.publish(feed.state.replacePart('blocks', blocks));
      this.#blocksNotes.set(region, note);
    }
  }

  /** `between` runs after each page, so that a small change does not wait for all of them. */
  async everything(between: () => Promise<void>): Promise<void> {
    const { store, regions } = this.#deps;
    const names = await readRegions(store.db);
    for (const { region } of names) regions.open(region);
    await this.#allBlocks();
    await this.#allTunnels(between);
    await this.#allCertificates(names, between);
    this.#rests = true;
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
      feed.publish(feed.state.patch('certificates', staleOwn(feed.state, served, values), values));
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
    const { store, clock, regions } = this.#deps;
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
      await this.#rest(beganMs);
      last = ids.at(-1);
    }
    this.#needed = this.#gathered;
    await this.tunnels([...gone]);
  }

  /** Reads in pages of ids. Opens only the keys that a region needs and does not hold. */
  async #allCertificates(names: readonly RegionNames[], between: () => Promise<void>): Promise<void> {
    const { store, regions, givenCertificates } = this.#deps;
    const given = givenCertificates();
    const before = [...regions.all()].map(([region, feed]) => ({ region, feed, ids: [...feed.state.ids('certificates')] }));
    for (const { feed } of before) feed.publish(feed.state.patch('certificates', [], given));
    const stored = new Map<string, CertificateFacts>();
    const next = (after: string) => readCertificateIds(store.db, after);
    for (let ids = await next(''); ids.length > 0; ids = await next(ids.at(-1)!)) {
      const beganMs = performance.now();
      const page = await this.#factsOf(ids);
      for (const each of page) stored.set(each.id, each);
      await this.#putLacking(names, page);
      await between();
      await this.#rest(beganMs);
    }
    this.#certificates = stored;
    const isGiven = new Set(given.map(({ id }) => id));
    for (const { region, feed, ids } of before) {
      const isNeeded = this.#needsIn(names, region);
      // Only of those from before this reading: it did not see all that came during it.
      const gone = ids.filter((id) => !isGiven.has(id) && !isNeeded(stored.get(id)));
      feed.publish(feed.state.patch('certificates', gone, []));
    }
  }

  async #factsOf(ids: readonly string[]): Promise<readonly CertificateFacts[]> {
    // One that a project gave serves only while its domain is live: what was known of it may not hold.
    const unknown = ids.filter((id) => isOwnId(id) || !this.#certificates.has(id));
    const read = new Map((await readCertificateFacts(this.#deps.store.db, unknown)).map((each) => [each.id, each]));
    return ids.flatMap((id) => read.get(id) ?? (isOwnId(id) ? [] : (this.#certificates.get(id) ?? [])));
  }

  async #putLacking(names: readonly RegionNames[], facts: readonly CertificateFacts[]): Promise<void> {
    const { store, keyRing, regions } = this.#deps;
    const lacking = new Set<string>();
    for (const [region, { state }] of regions.all()) {
      const isNeeded = this.#needsIn(names, region);
      for (const each of facts) if (!state.has('certificates', each.id) && isNeeded(each)) lacking.add(each.id);
    }
    this.#putCertificates(names, await readCertificates(store.db, keyRing, [...lacking]));
  }

  /** Gives certificates to the regions that need them. */
  #putCertificates(names: readonly RegionNames[], certificates: readonly FeedCertificate[]): void {
    for (const [region, feed] of this.#deps.regions.all())
      feed.publish(feed.state.patch('certificates', [], certificates.filter(this.#needsIn(names, region))));
  }

  /** Whether a region's edges need a certificate: it exists and is valid, and one of its hosts is served there, by no given file. */
  #needsIn(names: readonly RegionNames[], region: string): (certificate: CertificateFacts | undefined) => boolean {
    const own = new Set(names.filter((each) => each.region === region).flatMap(ownNames));
    const needed = this.#needed.get(region);
    const nowMs = this.#deps.clock();
    const isGiven = compileGiven(this.#deps.givenCertificates(), nowMs);
    return (certificate) =>
      certificate !== undefined &&
      certificate.notAfterMs > nowMs &&
      certificate.hosts.some((host) => (own.has(host) || needed?.has(host) === true) && !isGiven(host));
  }

  /** Rests as long as the page took: otherwise each of a call's turns of the event loop waits for a page. */
  async #rest(beganMs: number): Promise<void> {
    const { rest = sleep } = this.#deps;
    await rest(this.#rests ? performance.now() - beganMs : 0);
  }
}
