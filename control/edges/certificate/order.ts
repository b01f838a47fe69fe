// One order of a certificate: counted before it begins, kept when it succeeds, explained when it fails.

import { X509Certificate } from 'node:crypto';
import { isWildcardName } from '@underpass/rules/names/hostname.ts';
import type { PlatformDeps } from '../../platform/deps.ts';
import type { Authority, IssuedCertificate, IssueFailure } from './authority.ts';
import type { OrderOutcome } from './certificate-metrics.ts';
import { failAttempt, type MadeCertificate, readChain, readHeld, saveCertificate, startAttempt } from './certificate-rows.ts';
import { needsAlarm } from './core/cover.ts';
import type { WantedName } from './core/wanted.ts';
import { findDelegation } from './delegation.ts';
import { hostsOf } from './given-files.ts';

export interface OrderDeps extends Pick<PlatformDeps, 'store' | 'keyRing' | 'clock' | 'log'> {
  readonly authority: Authority;
  readonly onOrder?: (wanted: WantedName, outcome: OrderOutcome) => void;
  /** One of our own names keeps failing: the operator has to act. */
  readonly onTrouble?: (trouble: OrderFailure) => Promise<void>;
}

export interface OrderFailure {
  readonly name: string;
  readonly failures: number;
  readonly why: string;
  /** Expiry of the certificate that is still in use. */
  readonly expiresAt: number | undefined;
}

/** One order, proofs and polls included. */
const orderTimeoutMs = 8 * 60_000;

/** A certificate that does not contain the ordered name is never stored, so never served. */
function describe(name: string, issuer: string, issued: IssuedCertificate): MadeCertificate {
  const leaf = new X509Certificate(issued.chainPem);
  const hosts = hostsOf(leaf);
  if (!hosts.includes(name)) throw new Error(`certificate names ${hosts.join(', ').slice(0, 200)}, not ${name}`);
  return { ...issued, name, issuer, hosts, startsAt: leaf.validFromDate.getTime(), expiresAt: leaf.validToDate.getTime() };
}

/** Undefined for names that need no record of a user. */
async function findProofName({ store, authority }: OrderDeps, { name, projectId }: WantedName): Promise<string | undefined> {
  if (projectId === '' || !isWildcardName(name) || authority.delegationZone === undefined) return undefined;
  const delegation = await findDelegation(store.db, name, authority.delegationZone);
  if (delegation === undefined) throw new Error('the domain is no longer verified');
  return delegation.target;
}

async function issue(deps: OrderDeps, wanted: WantedName, failures: number, stopping: AbortSignal): Promise<MadeCertificate> {
  const { store, authority } = deps;
  const { name, region } = wanted;
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(orderTimeoutMs)]);
  const replaces = await readChain(store.db, name, authority.id);
  const proofName = await findProofName(deps, wanted);
  const issued = await authority.issue({
    ...{ name, region, failures, signal },
    ...(replaces === undefined ? {} : { replaces }),
    ...(proofName === undefined ? {} : { proofName }),
  });
  return describe(name, authority.id, issued);
}

/** Only our own names: a user sees on the tunnel's page that a name of theirs fails. */
async function alarm(deps: OrderDeps, wanted: WantedName, failures: number, why: string): Promise<void> {
  const { name, projectId } = wanted;
  if (projectId !== '') return;
  const held = (await readHeld(deps.store.db, [wanted])).get(name);
  if (!needsAlarm(held, failures, deps.clock())) return;
  await deps.onTrouble?.({ name, failures, why, expiresAt: held?.expiresAt });
}

/** `failures`: how many orders for this name have failed since the last success. Does not throw for what the authority does. */
export async function placeOrder(deps: OrderDeps, wanted: WantedName, failures: number, stopping: AbortSignal): Promise<void> {
  const { store, keyRing, clock, log, authority } = deps;
  const { name } = wanted;
  const attempt = await startAttempt(store, wanted, clock());
  try {
    await saveCertificate(store, keyRing, wanted, await issue(deps, wanted, failures, stopping), attempt, clock());
    log.info({ name }, 'certificates: issued');
    deps.onOrder?.(wanted, 'issued');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const { retryAfterMs } = error as IssueFailure;
    const retryAt = retryAfterMs === undefined ? 0 : clock() + retryAfterMs;
    await failAttempt(store, attempt, why, { retry_at: retryAt, retry_issuer: authority.id });
    log.warn({ name, err: error }, 'certificates: not issued; the order is repeated later');
    deps.onOrder?.(wanted, 'failed');
    await alarm(deps, wanted, failures + 1, why);
  }
}
