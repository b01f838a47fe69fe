// The sealed texts of access policies and of sign-ins that are under way.

import type { KeyRing } from '../../platform/secret/key-ring.ts';
import type { Queries } from '../../platform/store/store.ts';
import { createPolicyKeys, flowContext, keysContext, providerSecretContext } from './policy-keys.ts';

interface SealedText {
  readonly id: string;
  readonly column: 'keys_sealed' | 'provider_secret_sealed' | 'content_sealed';
  readonly sealed: string;
}

const contextOf: Readonly<Record<SealedText['column'], (id: string) => string>> = {
  keys_sealed: keysContext,
  provider_secret_sealed: providerSecretContext,
  content_sealed: flowContext,
};

/** Leaves out sign-ins that have ended, which nothing opens again. */
export async function readSealedPolicies(db: Queries, nowMs: number): Promise<readonly SealedText[]> {
  const policies = await db.selectFrom('access_policies').select(['id', 'keys_sealed', 'provider_secret_sealed']).execute();
  const open = db.selectFrom('access_flows').select(['id', 'content_sealed']).where('expires_at', '>', nowMs);
  const text = (id: string, column: SealedText['column'], sealed: string | null): SealedText[] =>
    sealed === null ? [] : [{ id, column, sealed }];
  return [
    ...policies.flatMap((row) => text(row.id, 'keys_sealed', row.keys_sealed)),
    ...policies.flatMap((row) => text(row.id, 'provider_secret_sealed', row.provider_secret_sealed)),
    ...(await open.execute()).flatMap((row) => text(row.id, 'content_sealed', row.content_sealed)),
  ];
}

/** Does nothing if the text was changed in the meantime. */
async function replaceText(db: Queries, { id, column, sealed }: SealedText, text: string): Promise<void> {
  if (column === 'content_sealed') {
    const flow = db.updateTable('access_flows').set({ content_sealed: text }).where('id', '=', id);
    await flow.where('content_sealed', '=', sealed).execute();
    return;
  }
  await db
    .updateTable('access_policies')
    .set({ [column]: text })
    .where('id', '=', id)
    .where(column, '=', sealed)
    .execute();
}

/** Seals with the newest key what an older one sealed; returns how many changed. */
export async function resealPolicies(db: Queries, keyRing: KeyRing): Promise<number> {
  const stale = (await readSealedPolicies(db, 0)).filter(({ sealed }) => keyRing.isStale(sealed));
  for (const each of stale) {
    const context = contextOf[each.column](each.id);
    await replaceText(db, each, keyRing.seal(keyRing.open(each.sealed, context), context));
  }
  return stale.length;
}

/** Replaces keys that are lost for good: everybody signs in again, and a provider's secret must be entered again. */
export async function giveUpPolicies(trx: Queries, keyRing: KeyRing): Promise<void> {
  const lost = (await readSealedPolicies(trx, 0)).filter(({ sealed }) => !keyRing.canOpen(sealed));
  for (const { id, column } of lost) {
    if (column === 'content_sealed') await trx.deleteFrom('access_flows').where('id', '=', id).execute();
    else {
      const set = column === 'keys_sealed' ? createPolicyKeys(keyRing, id) : { provider_secret_sealed: null };
      await trx.updateTable('access_policies').set(set).where('id', '=', id).execute();
    }
  }
}
