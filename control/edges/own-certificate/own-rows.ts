// Certificates that projects give for ingress domains of their http tunnels. One serves its ingress domain alone, whatever names it
// has, and only while that domain is live in the tunnel for which it was given.

import { dayMs } from '@underpass/rules/limits.ts';
import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { createId } from '../../platform/store/id.ts';
import type { Flag, Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';

/** A checked certificate with its key. */
export interface OwnChain {
  /** Leaf first, without the root: visitors have their own. */
  readonly chainPem: string;
  /** PKCS#8. */
  readonly privateKeyPem: string;
  readonly startsAt: number;
  /** When the first certificate of the chain ends. */
  readonly expiresAt: number;
  /** What may be wrong, though edges can serve it; empty if nothing is. */
  readonly warning: string;
}

const ownPrefix = 'own-';
export const isOwnId = (id: string): boolean => id.startsWith(ownPrefix);

export const ownCertificateContext = (id: string): string => `own_certificates/${id}`;

/** An authority's certificate that follows is ordered so long before the end of a project's own. */
const fallbackLeadMs = dayMs;

const liveQuery = (db: Queries) =>
  db
    .selectFrom('own_certificates as o')
    .innerJoin('tunnel_hosts as h', (join) => join.onRef('h.tunnel_id', '=', 'o.tunnel_id').onRef('h.live_host', '=', 'o.host'));

/** The valid ones among these ids that serve their domains now, without their keys. */
export async function readOwnFacts(db: Queries, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const rows = await liveQuery(db).select(['o.id', 'o.host', 'o.expires_at']).where('o.id', 'in', ids).execute();
  return rows.map(({ id, host, expires_at }) => ({ id, hosts: [host], notAfterMs: expires_at }));
}

const readRows = (db: Queries, column: 'o.id' | 'o.host', values: readonly string[]) =>
  liveQuery(db)
    .select(['o.id', 'o.host', 'o.chain_pem', 'o.key_sealed', 'o.expires_at'])
    .where(column, 'in', values)
    .orderBy('o.id')
    .execute();

/** Certificates with these ids, or for these hosts, with their keys. */
export async function readOwn(
  db: Queries,
  keyRing: KeyRing,
  by: 'o.id' | 'o.host',
  values: readonly string[],
): Promise<FeedCertificate[]> {
  if (values.length === 0) return [];
  return (await readRows(db, by, values)).map((row) => ({
    ...{ id: row.id, hosts: [row.host], certificatePem: row.chain_pem, notAfterMs: row.expires_at, own: true },
    privateKeyPem: keyRing.open(row.key_sealed, ownCertificateContext(row.id)),
  }));
}

/** When the certificates end that serve these names. */
export async function readOwnEnds(db: Queries, names: readonly string[], nowMs: number): Promise<ReadonlyMap<string, number>> {
  const rows = await liveQuery(db)
    .select(['o.host', 'o.expires_at'])
    .where('o.host', 'in', names)
    .where('o.expires_at', '>', nowMs)
    .execute();
  return new Map(rows.map(({ host, expires_at }) => [host, expires_at]));
}

/** True for a host `h` that wants no certificate of an authority now. */
export const hasOwn =
  (nowMs: number) =>
  (eb: ExpressionBuilder<Schema & { h: Schema['tunnel_hosts'] }, 'h'>): Expression<SqlBool> =>
    eb.exists(
      eb
        .selectFrom('own_certificates as o')
        .select('o.id')
        .whereRef('o.tunnel_id', '=', 'h.tunnel_id')
        .whereRef('o.host', '=', 'h.host')
        .where((own) => own.or([own('o.fallback', '=', 0), own('o.expires_at', '>', nowMs + fallbackLeadMs)])),
    );

export const findOwn = (db: Queries, tunnelId: string, host: string): Promise<Schema['own_certificates'] | undefined> =>
  db.selectFrom('own_certificates').selectAll().where('tunnel_id', '=', tunnelId).where('host', '=', host).executeTakeFirst();

export interface Owned {
  readonly tunnelId: string;
  readonly host: string;
}

/** Replaces the one that the domain has. The project must be locked. */
export async function saveOwn(
  trx: Queries,
  keyRing: KeyRing,
  { tunnelId, host }: Owned,
  { chainPem, privateKeyPem, ...own }: OwnChain,
  fallback: boolean,
  nowMs: number,
): Promise<void> {
  const id = `${ownPrefix}${createId(nowMs)}`;
  await deleteOwn(trx, { tunnelId, host });
  const row = {
    ...{ id, tunnel_id: tunnelId, host, chain_pem: chainPem, warning: own.warning },
    fallback: (fallback ? 1 : 0) as Flag,
    ...{ key_sealed: keyRing.seal(privateKeyPem, ownCertificateContext(id)) },
    ...{ starts_at: own.startsAt, expires_at: own.expiresAt, created_at: nowMs },
  };
  await trx.insertInto('own_certificates').values(row).execute();
  if (!fallback) await dropIssued(trx, { tunnelId, host });
}

export async function changeFallback(trx: Queries, { tunnelId, host }: Owned, fallback: boolean): Promise<void> {
  const set = { fallback: fallback ? 1 : 0 } as const;
  await trx.updateTable('own_certificates').set(set).where('tunnel_id', '=', tunnelId).where('host', '=', host).execute();
  if (!fallback) await dropIssued(trx, { tunnelId, host });
}

/** An authority's certificate from before would serve when the project's own ends. It may be that of another project's live domain. */
const dropIssued = (trx: Queries, { tunnelId, host }: Owned) =>
  trx
    .deleteFrom('certificates')
    .where('name', 'in', (eb) =>
      eb.selectFrom('tunnel_hosts').select('host').where('tunnel_id', '=', tunnelId).where('live_host', '=', host),
    )
    .execute();

export async function deleteOwn(trx: Queries, { tunnelId, host }: Owned): Promise<void> {
  await trx.deleteFrom('own_certificates').where('tunnel_id', '=', tunnelId).where('host', '=', host).execute();
}

/** Deletes those of domains that have left the tunnel: nobody would renew them, and their keys are of no use. */
export async function dropOwnExcept(trx: Queries, tunnelId: string, hosts: readonly string[]): Promise<void> {
  const rest = trx.deleteFrom('own_certificates').where('tunnel_id', '=', tunnelId);
  await (hosts.length === 0 ? rest : rest.where('host', 'not in', hosts)).execute();
}
