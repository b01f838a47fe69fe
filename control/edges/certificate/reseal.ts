// Seals the private keys of certificates with the newest key, so that older keys can be removed.

import type { KeyRing } from '../../platform/secret/key-ring.ts';
import type { Queries } from '../../platform/store/store.ts';
import { certificateContext } from '../feed/region-content.ts';

/** Returns how many changed. */
export async function resealCertificates(db: Queries, keyRing: KeyRing): Promise<number> {
  const rows = await db.selectFrom('certificates').select(['id', 'key_sealed']).execute();
  const stale = rows.filter((row) => keyRing.isStale(row.key_sealed));
  for (const { id, key_sealed } of stale) {
    const sealed = keyRing.seal(keyRing.open(key_sealed, certificateContext(id)), certificateContext(id));
    await db.updateTable('certificates').set({ key_sealed: sealed }).where('id', '=', id).execute();
  }
  return stale.length;
}
