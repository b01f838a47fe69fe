// The key of the ACME account: made once per directory, sealed in the store, shared by all control processes.

import type { KeyRing } from '../../secret/key-ring.ts';
import type { Queries, Store } from '../../store/store.ts';
import { createAccountKeyPem } from './jws.ts';

const prefix = 'acme-account:';
const settingName = (directory: string): string => `${prefix}${directory}`;

/** The sealed key of every account; the setting's name is the context of the seal. */
export async function accountSettings(db: Queries): Promise<readonly { readonly name: string; readonly sealed: string }[]> {
  const rows = await db.selectFrom('settings').selectAll().where('name', 'like', `${prefix}%`).execute();
  return rows.map(({ name, value }) => ({ name, sealed: JSON.parse(value) as string }));
}

export async function keepAccountKey(store: Store, keyRing: KeyRing, directory: string): Promise<string> {
  const name = settingName(directory);
  const sealed = await store.write(async (trx) => {
    const made = JSON.stringify(keyRing.seal(createAccountKeyPem(), name));
    await trx
      .insertInto('settings')
      .values({ name, value: made })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute();
    return trx.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirstOrThrow();
  });
  return keyRing.open(JSON.parse(sealed.value) as string, name);
}

/** Seals with the newest key what an older one sealed; returns how many changed. */
export async function resealAccountKeys(db: Queries, keyRing: KeyRing): Promise<number> {
  const rows = await accountSettings(db);
  const stale = rows.filter((row) => keyRing.isStale(row.sealed));
  for (const { name, sealed } of stale) {
    const value = JSON.stringify(keyRing.seal(keyRing.open(sealed, name), name));
    await db.updateTable('settings').set({ value }).where('name', '=', name).execute();
  }
  return stale.length;
}
