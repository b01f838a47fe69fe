// Tunnel tokens: sealed for members who may read them, hashed for the edges, rotated with an overlap.

import { durations, hourMs } from '@underpass/rules/limits.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { createToken, hashToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';

const sealContext = (id: string): string => `tunnel_tokens/${id}`;

export async function insertTunnelToken(db: Queries, keyRing: KeyRing, tunnelId: string, nowMs: number): Promise<void> {
  const id = createId(nowMs);
  const token = createToken();
  await db
    .insertInto('tunnel_tokens')
    .values({
      id,
      tunnel_id: tunnelId,
      token_hash: hashToken(token),
      token_sealed: keyRing.seal(token, sealContext(id)),
      created_at: nowMs,
      expires_at: null,
    })
    .execute();
}

/**
 * A second rotation within the overlap ends the oldest token at once, so that at most two are valid. Without an overlap every
 * other token ends at once, and the edges disconnect its clients.
 */
export async function rotateTunnelToken(
  trx: Queries,
  keyRing: KeyRing,
  tunnelId: string,
  nowMs: number,
  overlap: boolean,
): Promise<void> {
  const old = trx.deleteFrom('tunnel_tokens').where('tunnel_id', '=', tunnelId);
  await (overlap ? old.where('expires_at', 'is not', null) : old).execute();
  await trx
    .updateTable('tunnel_tokens')
    .set({ expires_at: nowMs + durations.tokenOverlapHours * hourMs })
    .where('tunnel_id', '=', tunnelId)
    .execute();
  await insertTunnelToken(trx, keyRing, tunnelId, nowMs);
}

/** Replaces tokens whose key is lost, since nobody can read them any more. The old ones work until `endsAt`, by their hashes. */
export async function giveUpTunnelTokens(trx: Queries, keyRing: KeyRing, nowMs: number, endsAt: number): Promise<void> {
  const rows = await trx.selectFrom('tunnel_tokens').select(['id', 'tunnel_id', 'token_sealed', 'expires_at']).execute();
  for (const row of rows.filter((each) => !keyRing.canOpen(each.token_sealed))) {
    const set = { token_sealed: keyRing.seal('', sealContext(row.id)), expires_at: row.expires_at ?? endsAt };
    await trx.updateTable('tunnel_tokens').set(set).where('id', '=', row.id).execute();
    if (row.expires_at === null) await insertTunnelToken(trx, keyRing, row.tunnel_id, nowMs);
  }
}

/** Each tunnel's present token. */
export async function readTunnelTokens(
  db: Queries,
  keyRing: KeyRing,
  tunnelIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('tunnel_tokens')
    .select(['id', 'tunnel_id', 'token_sealed'])
    .where('tunnel_id', 'in', tunnelIds)
    .where('expires_at', 'is', null)
    .execute();
  return new Map(rows.map((row) => [row.tunnel_id, keyRing.open(row.token_sealed, sealContext(row.id))]));
}

const resealBatch = 200;

/** Seals with the newest key what an older key sealed; afterwards the operator may remove the older key. Returns how many. */
export async function resealTunnelTokens(db: Queries, keyRing: KeyRing): Promise<number> {
  let count = 0;
  for (let last = ''; ; ) {
    const rows = await db
      .selectFrom('tunnel_tokens')
      .select(['id', 'token_sealed'])
      .where('id', '>', last)
      .orderBy('id')
      .limit(resealBatch)
      .execute();
    for (const row of rows.filter((each) => keyRing.isStale(each.token_sealed))) {
      const sealed = keyRing.seal(keyRing.open(row.token_sealed, sealContext(row.id)), sealContext(row.id));
      await db.updateTable('tunnel_tokens').set({ token_sealed: sealed }).where('id', '=', row.id).execute();
      count++;
    }
    if (rows.length < resealBatch) return count;
    last = rows.at(-1)!.id;
  }
}
