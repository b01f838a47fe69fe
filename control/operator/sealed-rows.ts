// Every sealed text of the store: reads them all, and discards those whose key is lost.

import { durations, hourMs } from '@underpass/rules/limits.ts';
import { giveUpWebhooks, readSealedWebhooks } from '../alerts/webhook/sealed-webhooks.ts';
import { giveUpPolicies, readSealedPolicies } from '../edges/policies/sealed-policies.ts';
import type { KeyRing } from '../platform/secret/key-ring.ts';
import { sealedSettings } from '../platform/secret/sealed-setting.ts';
import type { Queries } from '../platform/store/store.ts';
import { giveUpTunnelTokens } from '../tunnels/tunnel/token.ts';

/** Leaves out expired challenges, which nothing opens again. */
export async function readSealed(db: Queries, nowMs: number): Promise<string[]> {
  const tokens = await db.selectFrom('tunnel_tokens').select('token_sealed as sealed').execute();
  const certificates = await db.selectFrom('certificates').select('key_sealed as sealed').execute();
  const own = await db.selectFrom('own_certificates').select('key_sealed as sealed').execute();
  const open = db.selectFrom('challenges').select('payload_sealed as sealed').where('expires_at', '>', nowMs);
  const challenges = await open.execute();
  const settings = await sealedSettings(db);
  const policies = await readSealedPolicies(db, nowMs);
  return [...tokens, ...certificates, ...own, ...challenges, ...settings, ...policies, ...(await readSealedWebhooks(db))].map(
    ({ sealed }) => sealed,
  );
}

/**
 * Replaces what keys that are lost for good have sealed. Tunnels get new tokens; the old ones keep working for the overlap of a
 * rotation, by their hashes. Upkeep then makes new certificates and a new account at the authority; quick tunnels get new
 * addresses; visitors sign in again; owners set webhooks again, and projects give their own certificates again.
 */
export async function giveUpSealed(trx: Queries, keyRing: KeyRing, nowMs: number): Promise<void> {
  await giveUpTunnelTokens(trx, keyRing, nowMs, nowMs + durations.tokenOverlapHours * hourMs);
  const isLost = ({ sealed }: { readonly sealed: string }): boolean => !keyRing.canOpen(sealed);
  for (const table of ['certificates', 'own_certificates'] as const) {
    const certificates = await trx.selectFrom(table).select(['id', 'key_sealed as sealed']).execute();
    for (const { id } of certificates.filter(isLost)) await trx.deleteFrom(table).where('id', '=', id).execute();
  }
  const challenges = await trx.selectFrom('challenges').select(['id', 'payload_sealed as sealed']).execute();
  for (const { id } of challenges.filter(isLost)) await trx.deleteFrom('challenges').where('id', '=', id).execute();
  await giveUpPolicies(trx, keyRing);
  await giveUpWebhooks(trx, keyRing);
  for (const { name } of (await sealedSettings(trx)).filter(isLost))
    await trx.deleteFrom('settings').where('name', '=', name).execute();
}
