// Seals the private keys of certificates and ACME accounts with the newest key, so that older ones may go.

import { certificateContext } from '../feed/region-content.ts';
import type { KeyRing } from '../secret/key-ring.ts';
import type { Queries } from '../store/store.ts';
import { accountSettings } from './account-key.ts';

async function resealCertificateKeys(db: Queries, keyRing: KeyRing): Promise<number> {
  const rows = await db.selectFrom('certificates').select(['id', 'key_sealed']).execute();
  const stale = rows.filter((row) => keyRing.isStale(row.key_sealed));
  for (const { id, key_sealed } of stale) {
    const sealed = keyRing.seal(keyRing.open(key_sealed, certificateContext(id)), certificateContext(id));
    await db.updateTable('certificates').set({ key_sealed: sealed }).where('id', '=', id).execute();
  }
  return stale.length;
}

async function resealAccountKeys(db: Queries, keyRing: KeyRing): Promise<number> {
  const rows = await accountSettings(db);
  const stale = rows.filter((row) => keyRing.isStale(row.sealed));
  for (const { name, sealed } of stale) {
    const value = JSON.stringify(keyRing.seal(keyRing.open(sealed, name), name));
    await db.updateTable('settings').set({ value }).where('name', '=', name).execute();
  }
  return stale.length;
}

/** Answers how many changed. */
export const resealCertificates = async (db: Queries, keyRing: KeyRing): Promise<number> =>
  (await resealCertificateKeys(db, keyRing)) + (await resealAccountKeys(db, keyRing));
