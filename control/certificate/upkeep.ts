// Keeps every served name with a valid certificate: finds what is missing or due, asks the authority within its
// budgets, one control process per name at a time. Only verified hosts of http tunnels that point at us, and our own.

import { X509Certificate } from 'node:crypto';
import type { FeedCertificate } from '@underpass/wire/feed.ts';
import type { Logger } from 'pino';
import { servingNames } from '../feed/core/liveness.ts';
import type { KeyRing } from '../secret/key-ring.ts';
import type { WithLease } from '../store/lease.ts';
import type { Store } from '../store/store.ts';
import type { Authority, IssuedCertificate, IssueFailure } from './authority.ts';
import type { OrderOutcome } from './certificate-metrics.ts';
import {
  dropExpired,
  failAttempt,
  isStillWanted,
  type KnownCertificate,
  type MadeCertificate,
  readAttempts,
  readChain,
  readKnown,
  readOwnNames,
  readTunnelNames,
  saveCertificate,
  startAttempt,
  type WantedName,
} from './certificate-rows.ts';
import { type Attempt, decideOrder, failuresInARow, inTurns } from './core/budget.ts';
import { covers, isWorthTelling } from './core/cover.ts';
import { hostsOf } from './given-files.ts';
import { createRenewalAdvice } from './renewal-advice.ts';

export interface UpkeepDeps {
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly clock: () => number;
  readonly log: Logger;
  readonly authority: Authority;
  readonly givenCertificates: () => readonly FeedCertificate[];
  /** Whether the name's addresses are those of the region's host. Not asked for wildcards. */
  readonly pointsHere: (name: string, region: string) => Promise<boolean>;
  readonly withLease: WithLease;
  readonly onIssued: () => void;
  readonly onOrder?: (wanted: WantedName, outcome: OrderOutcome) => void;
  /** A name of ours that cannot be had: people have to look. */
  readonly onTrouble?: (trouble: Trouble) => Promise<void>;
}

export interface Trouble {
  readonly name: string;
  readonly failures: number;
  readonly why: string;
  /** Of the certificate that is there still. */
  readonly expiresAt: number | undefined;
}

export interface Upkeep {
  /** One pass now; asked for meanwhile, it ends early and another one follows. */
  run(): Promise<void>;
  /** A pass soon: what calls this may come in crowds. */
  nudge(): void;
  start(): void;
  close(): Promise<void>;
}

/** Orders under way at once. */
const atOnce = 4;
/** Names looked at in one pass; the rest waits for the next. */
const namesPerPass = 2_000;
const everyMs = 60_000;
const nudgeMs = 250;
/** One order, proofs and polls included. */
const orderTimeoutMs = 8 * 60_000;
/** All questions of a pass about renewals. */
const adviceTimeoutMs = 30_000;
/** How long a name that does not point here is left alone: it grows from the first to the second. */
const firstLookAgainMs = 15_000;
const lastLookAgainMs = 10 * 60_000;

const isWildcard = (name: string): boolean => name.startsWith('*.');

interface Pass {
  readonly known: ReadonlyMap<string, KnownCertificate>;
  readonly attempts: readonly Attempt[];
}

export function createUpkeep(deps: UpkeepDeps): Upkeep {
  const { store, keyRing, clock, log, authority } = deps;
  const stopping = new AbortController();
  const advice = createRenewalAdvice(deps);
  const elsewhere = new Map<string, { readonly until: number; readonly delayMs: number }>();
  let running: Promise<void> | undefined;
  let again = false;
  let asked = Promise.withResolvers<void>();
  /** By name, `atOnce` at most. */
  const underWay = new Map<string, Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let soon: NodeJS.Timeout | undefined;

  const isServed = (name: string, known: Pass['known']): boolean => {
    const certificate = known.get(name);
    return certificate !== undefined && certificate.issuer === authority.id && !advice.isDue(certificate);
  };

  const isGiven = (name: string): boolean => {
    const names = isWildcard(name) ? [name] : servingNames(name);
    return deps.givenCertificates().some((each) => each.notAfterMs > clock() && each.hosts.some((host) => names.includes(host)));
  };

  const isCovering = (wildcard: string, { known, attempts }: Pass): boolean =>
    covers(known.get(wildcard), failuresInARow(attempts, wildcard).count, clock());

  /** Names come and go with their tunnels, without end. */
  const forgetElsewhere = (wanted: ReadonlySet<string>): void => {
    for (const name of elsewhere.keys()) if (!wanted.has(name)) elsewhere.delete(name);
  };

  const wantedNames = async (pass: Pass): Promise<readonly WantedName[]> => {
    const { known } = pass;
    const own = (await readOwnNames(store.db)).filter((each) => authority.canIssue(each.name));
    const wildcards = new Set(own.map((each) => each.name).filter((name) => isWildcard(name) && isCovering(name, pass)));
    // A name under one of our wildcards needs none of its own, unless that cannot be had.
    const hosts = (await readTunnelNames(store.db)).filter((each) => !wildcards.has(servingNames(each.name)[1]));
    const made = [...own, ...hosts].filter((each) => !isGiven(each.name));
    forgetElsewhere(new Set(made.map(({ name }) => name)));
    const inUse = made.flatMap(({ name }) => known.get(name) ?? []);
    await advice.refresh(inUse, AbortSignal.any([stopping.signal, AbortSignal.timeout(adviceTimeoutMs)]));
    const missing = made.filter((each) => !isServed(each.name, known));
    const ready = missing.filter((each) => clock() >= (elsewhere.get(each.name)?.until ?? 0));
    return inTurns(ready).slice(0, namesPerPass);
  };

  const looksHere = async (wanted: WantedName): Promise<boolean> => {
    if (isWildcard(wanted.name) || authority.local) return true;
    const here = await deps.pointsHere(wanted.name, wanted.region);
    if (here) elsewhere.delete(wanted.name);
    else {
      const delayMs = Math.min((elsewhere.get(wanted.name)?.delayMs ?? firstLookAgainMs / 2) * 2, lastLookAgainMs);
      elsewhere.set(wanted.name, { until: clock() + delayMs, delayMs });
      // A user sees it on the page of the tunnel.
      if (wanted.projectId === '')
        log.warn({ name: wanted.name }, 'certificates: not asked for; the name leads to no address of its region yet');
    }
    return here;
  };

  const issue = async (wanted: WantedName, failures: number): Promise<void> => {
    const attempt = await startAttempt(store, wanted, clock());
    try {
      const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(orderTimeoutMs)]);
      const replaces = await readChain(store.db, wanted.name, authority.id);
      const { name, region } = wanted;
      const issued = await authority.issue({ name, region, failures, signal, ...(replaces === undefined ? {} : { replaces }) });
      await saveCertificate(store, keyRing, describe(wanted.name, authority.id, issued), attempt, clock());
      log.info({ name: wanted.name }, 'certificates: issued');
      deps.onOrder?.(wanted, 'issued');
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const { retryAfterMs } = error as IssueFailure;
      const retryAt = retryAfterMs === undefined ? 0 : clock() + retryAfterMs;
      await failAttempt(store, attempt, why, { retry_at: retryAt, retry_issuer: authority.id });
      log.warn({ name: wanted.name, err: error }, 'certificates: not issued; it is tried again later');
      deps.onOrder?.(wanted, 'failed');
      await tellOfTrouble(wanted, failures + 1, why);
    }
  };

  /** Of our own names only: a user's name that does not prove itself is that user's to mend. */
  const tellOfTrouble = async ({ name, projectId }: WantedName, failures: number, why: string): Promise<void> => {
    const known = (await readKnown(store.db)).get(name);
    if (projectId !== '' || !isWorthTelling(known, failures, clock())) return;
    await deps.onTrouble?.({ name, failures, why, expiresAt: known?.expiresAt });
  };

  const mayOrder = (wanted: WantedName, attempts: readonly Attempt[]): boolean =>
    authority.local || decideOrder(wanted, attempts, clock()).kind === 'go';

  const keep = async (wanted: WantedName): Promise<void> => {
    if (!(await looksHere(wanted))) return;
    await deps.withLease(`certificate:${wanted.name}`, async () => {
      // Another process may have made it, or the tunnel may be gone, while this one waited.
      const known = await readKnown(store.db);
      if (isServed(wanted.name, known) || !(await isStillWanted(store.db, wanted))) return;
      const attempts = await readAttempts(store.db, authority.id, clock());
      if (!mayOrder(wanted, attempts)) return;
      await issue(wanted, failuresInARow(attempts, wanted.name).count);
      deps.onIssued();
    });
  };

  const begin = (wanted: WantedName, onError: (error: unknown) => void): void => {
    const kept = keep(wanted)
      .catch(onError)
      .finally(() => underWay.delete(wanted.name));
    underWay.set(wanted.name, kept);
  };

  const logFailed = (error: unknown): void => log.error({ err: error }, 'certificates: a pass failed');

  const onePass = async (): Promise<void> => {
    await dropExpired(store, clock());
    const pass: Pass = { known: await readKnown(store.db), attempts: await readAttempts(store.db, authority.id, clock()) };
    // One that fails holds up no other; where all do, such as without the database, the rest is left alone.
    let failed = 0;
    const onError = (error: unknown): void => {
      failed += 1;
      logFailed(error);
    };
    for (const wanted of await wantedNames(pass)) {
      if (underWay.has(wanted.name) || !mayOrder(wanted, pass.attempts)) continue;
      while (underWay.size >= atOnce) await Promise.race(underWay.values());
      if (stopping.signal.aborted || failed >= atOnce) return;
      begin(wanted, onError);
      // Whoever came meanwhile has a turn before the rest of these: where a name server does not answer, each takes seconds.
      if (again) return;
    }
  };

  const passes = async (): Promise<void> => {
    do {
      again = false;
      asked = Promise.withResolvers();
      await onePass().catch(logFailed);
      // An order may take minutes: who comes meanwhile does not wait for it.
      await Promise.race([asked.promise, Promise.all(underWay.values())]);
    } while (again && !stopping.signal.aborted);
    await Promise.all(underWay.values());
    running = undefined;
  };

  const run = (): Promise<void> => {
    if (running === undefined) running = passes();
    else {
      again = true;
      asked.resolve();
    }
    return running;
  };

  return {
    run,
    nudge: () => {
      if (stopping.signal.aborted) return;
      soon ??= setTimeout(() => {
        soon = undefined;
        void run();
      }, nudgeMs);
    },
    start: () => {
      timer = setInterval(() => void run(), everyMs);
    },
    close: async () => {
      stopping.abort();
      clearInterval(timer);
      clearTimeout(soon);
      await running;
    },
  };
}

/** A certificate that does not name what was asked for is never stored, so never served. */
function describe(name: string, issuer: string, issued: IssuedCertificate): MadeCertificate {
  const leaf = new X509Certificate(issued.chainPem);
  const hosts = hostsOf(leaf);
  if (!hosts.includes(name)) throw new Error(`certificate names ${hosts.join(', ').slice(0, 200)}, not ${name}`);
  return { ...issued, name, issuer, hosts, startsAt: leaf.validFromDate.getTime(), expiresAt: leaf.validToDate.getTime() };
}
