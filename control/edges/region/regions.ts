// Regions in the store, and the keys with which their edges open the feed.

import type { Region } from '@underpass/rules/entity/entity.ts';
import { durations, hourMs } from '@underpass/rules/limits.ts';
import { createToken, hashToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';

export const listRegionRows = (db: Queries): Promise<Schema['regions'][]> =>
  db.selectFrom('regions').selectAll().orderBy('created_at').orderBy('name').execute();

export const toRegion = (row: Schema['regions']): Region => ({
  name: row.name,
  description: row.description,
  available: row.available === 1,
  tlsTermination: row.tls_termination === 1,
  ...(row.wildcard_ingress_domain === null ? {} : { wildcardIngressDomain: row.wildcard_ingress_domain }),
  ...(row.tcp_ports === null ? {} : { tcpPorts: row.tcp_ports }),
});

/** The hosts of the dashboard and of the regions. No project may claim one of them, or its apex. */
export async function ownHosts(db: Queries, origin: string): Promise<string[]> {
  const rows = await listRegionRows(db);
  const hosts = rows.flatMap((row) => [row.data_plane_host, row.wildcard_ingress_domain ?? '']);
  return [new URL(origin).hostname, ...hosts].filter((host) => host !== '');
}

/**
 * A leaked key ends at once, and so do older ones. Else it works for an overlap, so that the operator can replace it on the
 * edges.
 */
export type KeyRotation = 'overlap' | 'leaked';

async function endOldKeys(trx: Queries, region: string, nowMs: number, why: KeyRotation): Promise<void> {
  if (why === 'leaked') {
    await trx.deleteFrom('edge_keys').where('region', '=', region).execute();
    return;
  }
  const overlapEnd = nowMs + durations.tokenOverlapHours * hourMs;
  const own = trx.updateTable('edge_keys').set({ expires_at: overlapEnd }).where('region', '=', region);
  await own.where('expires_at', 'is', null).execute();
}

/** Returns the new key, which is never shown again. */
export async function rotateEdgeKey(trx: Queries, region: string, nowMs: number, why: KeyRotation): Promise<string> {
  await endOldKeys(trx, region, nowMs, why);
  const key = createToken();
  await trx
    .insertInto('edge_keys')
    .values({ id: createId(nowMs), region, key_hash: hashToken(key), created_at: nowMs, expires_at: null })
    .execute();
  return key;
}

/** True if the key with this hash opens the region's feed now. */
export async function keyOpensRegion(db: Queries, region: string, keyHash: string, nowMs: number): Promise<boolean> {
  const row = await db
    .selectFrom('edge_keys')
    .select('id')
    .where('region', '=', region)
    .where('key_hash', '=', keyHash)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .executeTakeFirst();
  return row !== undefined;
}
