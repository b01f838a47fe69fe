// Certificates, attempts and challenges in the store. Keys are sealed before they are written.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { tunnelTypeNames, tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { FeedCertificate, FeedChallenge } from '@underpass/wire/feed/feed.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { createId } from '../../platform/store/id.ts';
import { piecesOf } from '../../platform/store/pieces.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { certificateContext, challengeContext } from '../feed/region-content.ts';
import { hasOwn } from '../own-certificate/own-rows.ts';
import { readConsoleHost } from '../region/console-host.ts';
import type { IssuedCertificate } from './authority.ts';
import { type Attempt, attemptsKeptMs } from './core/budget.ts';
import type { Lifetime } from './core/renewal.ts';
import { type HeldCertificate, namesServing, type WantedName } from './core/wanted.ts';

/** Tunnels whose hosts need a certificate. */
const certifiedTypes = tunnelTypeNames.filter((type) => tunnelTypes[type].edgeEndsTls);

/** Our own names: each region's host and its wildcard, and the dashboard's where an edge serves it. */
export async function readOwnNames(db: Queries): Promise<WantedName[]> {
  const rows = await db
    .selectFrom('regions')
    .select(['name', 'data_plane_host', 'wildcard_ingress_domain', 'tls_termination'])
    .execute();
  const console = await readConsoleHost(db);
  const names = rows.flatMap((row) => {
    const own = { region: row.name, projectId: '', ownerId: '' };
    const wildcard = row.tls_termination === 1 ? row.wildcard_ingress_domain : null;
    return [{ ...own, name: row.data_plane_host }, ...(wildcard === null ? [] : [{ ...own, name: `*.${wildcard}` }])];
  });
  return console === undefined ? names : [...names, { name: console.host, region: console.region, projectId: '', ownerId: '' }];
}

/** Names that one query reads. The embedded database blocks the process during a query, so long lists come in pages. */
const namesAtOnce = 500;

/** All rows in the order of their names. `readPage` gets the last name so far. */
async function readInPages<Row extends { readonly name: string }>(readPage: (after: string) => Promise<Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let more = true; more; ) {
    const page = await readPage(rows.at(-1)?.name ?? '');
    rows.push(...page);
    more = page.length === namesAtOnce;
    if (more) await nextTurn();
  }
  return rows;
}

/**
 * Verified hosts of tunnels that need a certificate and are not suspended, in regions that end TLS: the only ones to order. Leaves
 * out those whose project gave a certificate.
 */
export const readTunnelNames = (db: Queries, nowMs: number): Promise<readonly WantedName[]> =>
  readInPages((after) => wantedNames(db, nowMs).where('h.live_host', '>', after).limit(namesAtOnce).execute());

/** The same for some tunnels. */
export async function readNamesOf(db: Queries, tunnelIds: readonly string[], nowMs: number): Promise<readonly WantedName[]> {
  const names: WantedName[] = [];
  for (const some of piecesOf(tunnelIds, namesAtOnce))
    names.push(...(await wantedNames(db, nowMs).where('h.live_host', 'is not', null).where('h.tunnel_id', 'in', some).execute()));
  return names;
}

const wantedNames = (db: Queries, nowMs: number) =>
  db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .innerJoin('projects as p', 'p.id', 't.project_id')
    .innerJoin('regions as r', 'r.name', 't.region')
    .where('t.type', 'in', certifiedTypes)
    .where('r.tls_termination', '=', 1)
    .where('t.suspended_at', 'is', null)
    .where('p.suspended_at', 'is', null)
    .where((eb) => eb.not(hasOwn(nowMs)(eb)))
    .select(['h.host as name', 't.region as region', 't.project_id as projectId'])
    .select((eb) => {
      const owners = eb.selectFrom('members as m').whereRef('m.project_id', '=', 't.project_id').where('m.role', '=', 'owner');
      // The project's first owner; a project without an owner has a share of its own.
      const first = owners.select('m.user_id').orderBy('m.created_at').orderBy('m.user_id').limit(1);
      return eb.fn.coalesce(first, 't.project_id').as('ownerId');
    })
    .orderBy('h.live_host');

/** Checked again just before the order: the tunnel may have changed since the pass began. */
export async function isStillWanted(db: Queries, wanted: WantedName, nowMs: number): Promise<boolean> {
  if (wanted.projectId === '') return true;
  const row = await db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .where('h.live_host', '=', wanted.name)
    .where('t.type', 'in', certifiedTypes)
    .where('t.suspended_at', 'is', null)
    .where((eb) => eb.not(hasOwn(nowMs)(eb)))
    .select('t.id')
    .executeTakeFirst();
  return row !== undefined;
}

type Held = ReadonlyMap<string, HeldCertificate>;

const byName = (rows: readonly HeldCertificate[]): Held => new Map(rows.map((row) => [row.name, row]));

/** An index has all of these columns. */
const heldQuery = (db: Queries) =>
  db.selectFrom('certificates').select(['name', 'issuer', 'starts_at as startsAt', 'expires_at as expiresAt']);

/** The certificates of all names. */
export const readAllHeld = async (db: Queries): Promise<Held> =>
  byName(await readInPages((after) => heldQuery(db).where('name', '>', after).orderBy('name').limit(namesAtOnce).execute()));

/** The certificates of these names. */
export async function readHeld(db: Queries, of: readonly Pick<WantedName, 'name'>[]): Promise<Held> {
  const held: HeldCertificate[] = [];
  for (const some of piecesOf(of, namesAtOnce)) {
    const names = some.map(({ name }) => name);
    held.push(...(await heldQuery(db).where('name', 'in', names).execute()));
  }
  return byName(held);
}

/** The chain in use for a name, if this authority made it. */
export async function readChain(db: Queries, name: string, issuer: string): Promise<string | undefined> {
  const query = db.selectFrom('certificates').select('chain_pem').where('name', '=', name).where('issuer', '=', issuer);
  return (await query.executeTakeFirst())?.chain_pem;
}

/** When the last certificate that serves a name ends, given or issued; 0 without one. */
export async function readEnds(db: Queries, given: readonly FeedCertificate[]): Promise<(name: string) => number> {
  const query = db.selectFrom('certificates').select(['name', 'hosts', 'expires_at']).orderBy('name').limit(namesAtOnce);
  const rows = await readInPages((after) => query.where('name', '>', after).execute());
  const issued = rows.map((row) => ({ hosts: JSON.parse(row.hosts) as string[], notAfterMs: row.expires_at }));
  const ends = new Map<string, number>();
  for (const { hosts, notAfterMs } of [...issued, ...given])
    for (const host of hosts) ends.set(host, Math.max(ends.get(host) ?? 0, notAfterMs));
  return (name) => Math.max(...namesServing(name).map((each) => ends.get(each) ?? 0));
}

/** Leaves out what another authority said about the next order, because it does not bind this one. */
export async function readAttempts(db: Queries, issuer: string, nowMs: number): Promise<Attempt[]> {
  const rows = await db
    .selectFrom('certificate_attempts')
    .select(['name', 'project_id as projectId', 'owner_id as ownerId', 'at', 'outcome', 'retry_at as retryAt', 'retry_issuer'])
    .where('at', '>', nowMs - attemptsKeptMs)
    .execute();
  return rows.map(({ retry_issuer, ...row }) => (retry_issuer === issuer ? row : { ...row, retryAt: 0 }));
}

/** The errors of the last orders for our own names, by region, if these failed. */
export async function readOwnProblems(db: Queries): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('certificate_attempts')
    .select(['name', 'outcome', 'detail'])
    .where('project_id', '=', '')
    .orderBy('at')
    .execute();
  const last = new Map(rows.map((row) => [row.name, row]));
  const problems = new Map<string, string>();
  for (const { name, region } of await readOwnNames(db)) {
    const failed = last.get(name);
    if (failed?.outcome !== 'failed') continue;
    const line = `${name}: ${failed.detail}`;
    problems.set(region, problems.has(region) ? `${problems.get(region)}; ${line}` : line);
  }
  return problems;
}

const nothingSaid = { retry_at: 0, retry_issuer: '' };

export async function startAttempt(store: Store, wanted: WantedName, nowMs: number): Promise<string> {
  const id = createId(nowMs);
  const { name, projectId, ownerId } = wanted;
  await store.db
    .insertInto('certificate_attempts')
    .values({ id, name, project_id: projectId, owner_id: ownerId, at: nowMs, outcome: 'started', detail: '', ...nothingSaid })
    .execute();
  return id;
}

/** Room for as much of an error as helps an operator. */
const detailChars = 500;

export type Retry = Pick<Schema['certificate_attempts'], 'retry_at' | 'retry_issuer'>;

export async function failAttempt(store: Store, id: string, detail: string, retry: Retry): Promise<void> {
  await store.db
    .updateTable('certificate_attempts')
    .set({ outcome: 'failed', detail: detail.slice(0, detailChars), ...retry })
    .where('id', '=', id)
    .execute();
}

export interface MadeCertificate extends IssuedCertificate, Lifetime {
  readonly name: string;
  readonly issuer: string;
  readonly hosts: readonly string[];
}

/**
 * Replaces the old one in one transaction. An order takes minutes: if its project wants no such certificate any more, none is
 * kept.
 */
export async function saveCertificate(
  store: Store,
  keyRing: KeyRing,
  wanted: WantedName,
  made: MadeCertificate,
  attemptId: string,
  nowMs: number,
): Promise<void> {
  const id = createId(nowMs);
  const row = {
    id,
    name: made.name,
    hosts: JSON.stringify(made.hosts),
    chain_pem: made.chainPem,
    key_sealed: keyRing.seal(made.privateKeyPem, certificateContext(id)),
    issuer: made.issuer,
    starts_at: made.startsAt,
    expires_at: made.expiresAt,
    created_at: nowMs,
  };
  await store.write(async (trx) => {
    if (await isStillWanted(trx, wanted, nowMs)) {
      await trx.deleteFrom('certificates').where('name', '=', made.name).execute();
      await trx.insertInto('certificates').values(row).execute();
    }
    await trx.updateTable('certificate_attempts').set({ outcome: 'issued' }).where('id', '=', attemptId).execute();
  });
}

/** Edges answer a challenge no longer than this, whatever happens to its order. */
const challengeLifeMs = 15 * 60_000;

export async function saveChallenge(
  store: Store,
  keyRing: KeyRing,
  region: string,
  challenge: FeedChallenge,
  nowMs: number,
): Promise<void> {
  const row = {
    id: challenge.id,
    region,
    payload_sealed: keyRing.seal(JSON.stringify(challenge), challengeContext(challenge.id)),
    created_at: nowMs,
    expires_at: nowMs + challengeLifeMs,
  };
  await store.write(async (trx) => {
    await trx.deleteFrom('challenges').where('expires_at', '<=', nowMs).execute();
    await trx.deleteFrom('challenges').where('id', '=', challenge.id).execute();
    await trx.insertInto('challenges').values(row).execute();
  });
}

export async function dropChallenge(store: Store, id: string): Promise<void> {
  await store.db.deleteFrom('challenges').where('id', '=', id).execute();
}
