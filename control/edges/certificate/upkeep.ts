// Keeps every served name with a valid certificate: finds what is missing or due, and asks the authority within its budgets,
// one control process per name at a time. Only verified hosts of http tunnels that point at us, and our own names.

import { isWildcardName } from '@underpass/rules/names/hostname.ts';
import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import type { WithLease } from '../../platform/store/lease.ts';
import { type AddressCheck, createAddressCheck } from './address-check.ts';
import { mayIssue } from './authority.ts';
import {
  isStillWanted,
  readAllHeld,
  readAttempts,
  readHeld,
  readNamesOf,
  readOwnNames,
  readTunnelNames,
} from './certificate-rows.ts';
import {
  type Attempt,
  createLedger,
  decideOrder,
  failuresInARow,
  inTurns,
  type Ledger,
  type OrderBudget,
} from './core/budget.ts';
import { type Holdings, namesToCover, type WantedName } from './core/wanted.ts';
import { type OrderDeps, placeOrder } from './order.ts';
import { createOrders, createPasses, type Orders, type Scope } from './passes.ts';
import { createRenewalAdvice, type RenewalAdvice } from './renewal-advice.ts';

export interface UpkeepDeps extends OrderDeps {
  readonly givenCertificates: () => readonly FeedCertificate[];
  readonly budget: OrderBudget;
  /** Whether the name's addresses are those of the region's host; of a user's wildcard, whether its proof leads to us. */
  readonly pointsHere: (name: string, region: string) => Promise<boolean>;
  readonly withLease: WithLease;
  readonly onIssued: (name: string) => void;
}

export interface Upkeep {
  /** A pass over all names now. If one runs already, it ends early and another follows. */
  run(): Promise<void>;
  /** A pass soon over the names of these tunnels: many calls at once cause one pass. */
  nudge(tunnelIds: readonly string[]): void;
  close(): Promise<void>;
}

const ordersAtOnce = 4;
/** The other names wait for the next pass. */
const namesPerPass = 2_000;
const nudgeMs = 250;
/** All questions of a pass about renewals. */
const adviceTimeoutMs = 30_000;

interface Parts extends UpkeepDeps {
  readonly advice: RenewalAdvice;
  readonly addresses: AddressCheck;
  readonly orders: Orders;
  readonly stopping: AbortSignal;
}

function isServed({ authority, advice }: Parts, name: string, held: Holdings['held']): boolean {
  const certificate = held.get(name);
  return certificate !== undefined && certificate.issuer === authority.id && !advice.isDue(certificate);
}

const mayOrder = ({ authority, budget, clock }: Parts, wanted: WantedName, ledger: Ledger): boolean =>
  authority.local || decideOrder(wanted, ledger, budget, clock()).kind === 'go';

/** The names that have no certificate of this authority, or one that is due. */
async function namesInNeed(parts: Parts, scope: Scope, attempts: readonly Attempt[]): Promise<readonly WantedName[]> {
  const { store, authority, clock, addresses, advice, stopping } = parts;
  const isPossible = (wanted: WantedName): boolean => mayIssue(authority, wanted);
  const own = (await readOwnNames(store.db)).filter(isPossible);
  const found = await (scope === 'all' ? readTunnelNames(store.db, clock()) : readNamesOf(store.db, [...scope], clock()));
  const hosts = found.filter(isPossible);
  const held = await (scope === 'all' ? readAllHeld(store.db) : readHeld(store.db, [...own, ...hosts]));
  const names = namesToCover(own, hosts, { held, attempts, given: parts.givenCertificates() }, clock());
  if (scope === 'all') {
    const all = new Set(names.map(({ name }) => name));
    addresses.keepOnly(all);
    advice.keepOnly(all);
  }
  const inUse = names.flatMap(({ name }) => held.get(name) ?? []);
  await advice.refresh(inUse, AbortSignal.any([stopping, AbortSignal.timeout(adviceTimeoutMs)]));
  const missing = names.filter(({ name }) => !isServed(parts, name, held) && !addresses.isPaused(name));
  return inTurns(missing).slice(0, namesPerPass);
}

async function isHere({ authority, addresses, log }: Parts, wanted: WantedName): Promise<boolean> {
  if ((isWildcardName(wanted.name) && wanted.projectId === '') || authority.local || (await addresses.isHere(wanted)))
    return true;
  // A user sees it on the page of the tunnel.
  if (wanted.projectId === '')
    log.warn({ name: wanted.name }, 'certificates: not ordered; the name does not point at its region yet');
  return false;
}

async function keep(parts: Parts, wanted: WantedName): Promise<void> {
  const { store, authority, clock } = parts;
  if (!(await isHere(parts, wanted))) return;
  await parts.withLease(`certificate:${wanted.name}`, async () => {
    // While this process waited, another one may have made it, or the tunnel may have been deleted.
    const held = await readHeld(store.db, [wanted]);
    if (isServed(parts, wanted.name, held) || !(await isStillWanted(store.db, wanted, clock()))) return;
    const attempts = await readAttempts(store.db, authority.id, clock());
    if (!mayOrder(parts, wanted, createLedger(attempts))) return;
    await placeOrder(parts, wanted, failuresInARow(attempts, wanted.name).count, parts.stopping);
    parts.onIssued(wanted.name);
  });
}

/** True if it looked at all names of the scope. */
async function runPass(parts: Parts, scope: Scope, endsEarly: () => boolean): Promise<boolean> {
  const { store, authority, clock, orders } = parts;
  const attempts = await readAttempts(store.db, authority.id, clock());
  const ledger = createLedger(attempts);
  // A failure holds up no other name. If all fail, as without the database, the pass ends.
  let failed = 0;
  const onError = (error: unknown): void => {
    failed += 1;
    parts.log.error({ err: error }, 'certificates: a name was not looked after');
  };
  for (const wanted of await namesInNeed(parts, scope, attempts)) {
    if (orders.has(wanted.name) || !mayOrder(parts, wanted, ledger)) continue;
    await orders.room();
    if (parts.stopping.aborted || failed >= ordersAtOnce) return false;
    orders.start(wanted.name, keep(parts, wanted).catch(onError));
    // Serve new names before finishing these: each takes seconds if its name server does not answer.
    if (endsEarly()) return false;
  }
  return true;
}

export function createUpkeep(deps: UpkeepDeps): Upkeep {
  const stopping = new AbortController();
  const parts: Parts = {
    ...deps,
    advice: createRenewalAdvice(deps),
    addresses: createAddressCheck(deps.pointsHere, deps.clock),
    orders: createOrders(ordersAtOnce),
    stopping: stopping.signal,
  };
  const pass = (scope: Scope, endsEarly: () => boolean): Promise<boolean> =>
    runPass(parts, scope, endsEarly).catch((error) => {
      deps.log.error({ err: error }, 'certificates: a pass failed');
      return false;
    });
  const passes = createPasses(pass, parts.orders, stopping.signal);
  const changed = new Set<string>();
  let soon: NodeJS.Timeout | undefined;
  return {
    run: () => passes.run('all'),
    nudge: (tunnelIds) => {
      if (stopping.signal.aborted) return;
      for (const id of tunnelIds) changed.add(id);
      soon ??= setTimeout(() => {
        soon = undefined;
        void passes.run(new Set(changed));
        changed.clear();
      }, nudgeMs);
    },
    close: async () => {
      stopping.abort();
      clearTimeout(soon);
      await passes.settled();
    },
  };
}
