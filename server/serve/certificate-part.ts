// Where certificates come from: the operator's files, and an authority: ACME if set, else one on this machine.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Control } from '@underpass/control/control.ts';
import { keepAccountKey } from '@underpass/control/edges/certificate/acme/account-key.ts';
import { createAcmeAuthority } from '@underpass/control/edges/certificate/acme/authority.ts';
import { delegatesHere, pointsHere } from '@underpass/control/edges/certificate/address-check.ts';
import { type Authority, mayIssue } from '@underpass/control/edges/certificate/authority.ts';
import { addCertificateMetrics } from '@underpass/control/edges/certificate/certificate-metrics.ts';
import { dropChallenge, saveChallenge } from '@underpass/control/edges/certificate/certificate-rows.ts';
import { createDnsHook } from '@underpass/control/edges/certificate/dns-hook.ts';
import { createGivenFiles, type GivenFiles } from '@underpass/control/edges/certificate/given-files.ts';
import { type LocalCa, openLocalCa } from '@underpass/control/edges/certificate/local-ca.ts';
import { createDnsUpdater, type DnsUpdater } from '@underpass/control/edges/certificate/rfc2136/updater.ts';
import { createUncoveredNotice } from '@underpass/control/edges/certificate/uncovered-notice.ts';
import { createUpkeep, type Upkeep } from '@underpass/control/edges/certificate/upkeep.ts';
import type { DnsPort } from '@underpass/control/edges/dns/port.ts';
import { compileGiven } from '@underpass/control/edges/feed/core/given-names.ts';
import type { FeedHub } from '@underpass/control/edges/feed/hub.ts';
import type { HubMessages } from '@underpass/control/edges/feed/hub-bus.ts';
import type { BackgroundWork } from '@underpass/control/platform/job/background.ts';
import { addJob } from '@underpass/control/platform/job/queue.ts';
import { certificateTroubleMail } from '@underpass/control/platform/mail/mails.ts';
import { createWithLease } from '@underpass/control/platform/store/lease.ts';
import { isWildcardName } from '@underpass/rules/names/hostname.ts';
import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import { ServerError } from '../process/error.ts';
import type { Settings } from '../settings/settings.ts';
import type { State } from '../state/state.ts';

/** Opened before the feed, because the feed carries the given files. */
export interface CertificateSources {
  readonly localCa: LocalCa | undefined;
  readonly given: GivenFiles | undefined;
  readonly certificates: () => readonly FeedCertificate[];
  /** What clients of a region's host pin: the local authority, unless a given file serves the host. */
  readonly clientPin: (host: string) => string | undefined;
}

/** Never replaces an authority that cannot be read: clients and browsers trust the existing one. */
function openLocalAuthority(home: string, clock: () => number): Promise<LocalCa> {
  return openLocalCa(home, clock).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ServerError('file-unusable', `${join(home, 'ca.pem')} or ca-key.pem beside it: ${why}`, { cause: error });
  });
}

export async function openCertificateSources(settings: Settings, state: State): Promise<CertificateSources> {
  const { clock, log } = state;
  const isLocal = settings.acmeDirectory === undefined && !settings.production;
  const localCa = isLocal ? await openLocalAuthority(settings.home, clock) : undefined;
  const given = settings.certificates === undefined ? undefined : createGivenFiles(settings.certificates, clock, log);
  await given?.read().catch((error: unknown) => {
    throw new ServerError('file-unusable', `${settings.certificates} (UNDERPASS_CERTIFICATES)`, { cause: error });
  });
  const certificates = (): readonly FeedCertificate[] => given?.certificates() ?? [];
  const clientPin = (host: string): string | undefined =>
    compileGiven(certificates(), clock())(host) ? undefined : localCa?.fingerprint;
  return { localCa, given, certificates, clientPin };
}

function openDnsUpdater(settings: Settings, clock: () => number): DnsUpdater | undefined {
  const { rfc2136Server: server, rfc2136Zone: zone, rfc2136KeyName: name, rfc2136Key: secret } = settings;
  if (server === undefined || zone === undefined || name === undefined || secret === undefined) return undefined;
  return createDnsUpdater({ server, zone, key: { name, secret }, clock });
}

/** Where users lead the proofs of their wildcards, and what writes there. */
function openDelegation({ acmeChallengeZone: zone, acmeDnsHook: hook }: Settings, dns: DnsUpdater | undefined) {
  const writer = hook === undefined ? dns : createDnsHook(hook);
  return zone === undefined || writer === undefined ? undefined : { zone, change: writer.change };
}

async function readCaFile(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new ServerError('file-unusable', `${path} (UNDERPASS_ACME_CA_FILE)`, { cause: error });
  });
}

async function openAcme(settings: Settings, directory: string, state: State, hub: FeedHub): Promise<Authority> {
  const { store, keyRing, clock } = state;
  const ca = await readCaFile(settings.acmeCaFile);
  const dns = openDnsUpdater(settings, clock);
  const delegation = openDelegation(settings, dns);
  const { acmeEabKeyId: keyId, acmeEabHmac: hmacKey } = settings;
  return createAcmeAuthority({
    directory,
    clock,
    accountKey: () => keepAccountKey(store, keyRing, directory),
    showAtEdges: async (region, challenge) => {
      await saveChallenge(store, keyRing, region, challenge, clock());
      hub.challengesChanged();
      await hub.delivered(region);
      return async () => {
        await dropChallenge(store, challenge.id);
        hub.challengesChanged();
      };
    },
    ...(ca === undefined ? {} : { ca }),
    ...(dns === undefined ? {} : { dns }),
    ...(delegation === undefined ? {} : { delegation }),
    ...(keyId === undefined || hmacKey === undefined ? {} : { externalAccount: { keyId, hmacKey } }),
    ...(settings.acmeEmail === undefined ? {} : { email: settings.acmeEmail }),
  });
}

/** Undefined if the server uses only given files. */
export async function openAuthority(
  settings: Settings,
  state: State,
  hub: FeedHub,
  { localCa }: CertificateSources,
): Promise<Authority | undefined> {
  const directory = settings.acmeDirectory;
  return directory === undefined ? localCa : openAcme(settings, directory, state, hub);
}

interface UpkeepNeeds {
  readonly control: Pick<Control, 'metrics'>;
  readonly authority: Authority | undefined;
  readonly hub: FeedHub;
  readonly dns: DnsPort;
  readonly sources: CertificateSources;
}

/** Undefined if the server uses only given files. */
function openUpkeep(
  settings: Settings,
  state: State,
  { control, authority, hub, dns, sources }: UpkeepNeeds,
): Upkeep | undefined {
  const { store, keyRing, clock, log } = state;
  const metrics = addCertificateMetrics({
    registry: control.metrics,
    store,
    clock,
    givenCertificates: sources.certificates,
    ...(authority === undefined ? {} : { canIssue: (wanted) => mayIssue(authority, wanted) }),
  });
  if (authority === undefined) return undefined;
  return createUpkeep({
    store,
    keyRing,
    clock,
    log,
    authority,
    givenCertificates: sources.certificates,
    budget: { overall: settings.acmeOrders, perProject: settings.acmeOrdersPerProject },
    pointsHere: (name, region) =>
      isWildcardName(name)
        ? delegatesHere(store.db, dns, name, authority.delegationZone ?? '')
        : pointsHere(store.db, dns, name, region),
    withLease: createWithLease(store, clock),
    onIssued: (name) => hub.certificatesChanged([name]),
    onOrder: metrics.observe,
    onTrouble: (trouble) => addJob(store.db, clock(), 'operator-mail', certificateTroubleMail(trouble)),
  });
}

const passEveryMs = 60_000;

interface RunningUpkeep {
  readonly order: () => void;
  readonly background: readonly BackgroundWork[];
  readonly close: () => Promise<void>;
}

export async function startUpkeep(settings: Settings, state: State, core: UpkeepNeeds): Promise<RunningUpkeep> {
  const { hub, sources } = core;
  const upkeep = openUpkeep(settings, state, core);
  if (upkeep === undefined) return await keepNotice(state, core);
  sources.given?.watch(() => hub.certificatesChanged());
  const unsubscribe = state.bus.subscribe('feed.tunnels', (message) =>
    upkeep.nudge((message as HubMessages['feed.tunnels']).ids),
  );
  // The first tunnel needs its certificate now, and the local authority answers at once. ACME has to wait for the edge (`order`).
  if (sources.localCa !== undefined) await upkeep.run();
  return {
    order: () => void (sources.localCa === undefined && upkeep.run()),
    // Waits for no pass: the next ends it early and goes on.
    background: [{ name: 'certificates', everyMs: passEveryMs, run: async () => void upkeep.run() }],
    close: async () => {
      unsubscribe();
      await upkeep.close();
    },
  };
}

/** Logs which names the given files of a server without an authority do not cover, now and after each change of a tunnel. */
async function keepNotice({ store, clock, log, bus }: State, { hub, sources }: UpkeepNeeds): Promise<RunningUpkeep> {
  const tell = createUncoveredNotice({ store, clock, log, givenCertificates: sources.certificates });
  const tellAgain = (): void => void tell().catch((error) => log.warn({ err: error }, 'certificates: not looked through'));
  await tell();
  sources.given?.watch(() => {
    hub.certificatesChanged();
    tellAgain();
  });
  const unsubscribe = bus.subscribe('feed.tunnels', tellAgain);
  return { order: () => {}, background: [], close: async () => unsubscribe() };
}
