// Seals the private keys of certificates with the newest key, so that older keys can be removed.

import type { KeyRing } from '../../platform/secret/key-ring.ts';
import type { Queries } from '../../platform/store/store.ts';
import { certificateContext } from '../feed/region-content.ts';
import { ownCertificateContext } from '../own-certificate/own-rows.ts';

/** Returns how many changed. */
export async function resealCertificates(db: Queries, keyRing: KeyRing): Promise<number> {
  const issued = await resealTable(db, keyRing, 'certificates', certificateContext);
  return issued + (await resealTable(db, keyRing, 'own_certificates', ownCertificateContext));
}

async function resealTable(
  db: Queries,
  keyRing: KeyRing,
  table: 'certificates' | 'own_certificates',
  contextOf: (id: string) => string,
): Promise<number> {
  const rows = await db.selectFrom(table).select(['id', 'key_sealed']).execute();
  const stale = rows.filter((row) => keyRing.isStale(row.key_sealed));
  for (const { id, key_sealed } of stale) {
    const sealed = keyRing.seal(keyRing.open(key_sealed, contextOf(id)), contextOf(id));
    await db.updateTable(table).set({ key_sealed: sealed }).where('id', '=', id).execute();
  }
  return stale.length;
}
