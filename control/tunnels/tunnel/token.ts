// Tunnel tokens: sealed for members who may read them, hashed for the edges, rotated with an overlap.

import { durations, hourMs } from '@underpass/rules/limits.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { createToken, hashToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';

export const tokenContext = (id: string): string => `tunnel_tokens/${id}`;

export async function insertTunnelToken(db: Queries, keyRing: KeyRing, tunnelId: string, nowMs: number): Promise<void> {
  const id = createId(nowMs);
  const token = createToken();
  await db
    .insertInto('tunnel_tokens')
    .values({
      id,
      tunnel_id: tunnelId,
      token_hash: hashToken(token),
      token_sealed: keyRing.seal(token, tokenContext(id)),
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

/** Replaces a token whose key is lost, since nobody can read it any more. The old one works for the overlap, by its hash. */
export async function giveUpTunnelToken(trx: Queries, keyRing: KeyRing, id: string, nowMs: number): Promise<void> {
  const lost = trx.selectFrom('tunnel_tokens').select(['tunnel_id', 'expires_at']).where('id', '=', id);
  const { tunnel_id, expires_at } = await lost.executeTakeFirstOrThrow();
  const endsAt = expires_at ?? nowMs + durations.tokenOverlapHours * hourMs;
  const set = { token_sealed: keyRing.seal('', tokenContext(id)), expires_at: endsAt };
  await trx.updateTable('tunnel_tokens').set(set).where('id', '=', id).execute();
  if (expires_at === null) await insertTunnelToken(trx, keyRing, tunnel_id, nowMs);
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
  return new Map(rows.map((row) => [row.tunnel_id, keyRing.open(row.token_sealed, tokenContext(row.id))]));
}
