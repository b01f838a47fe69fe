// Secrets of the whole installation, each made when it is first needed: sealed in the table of settings, shared by all control
// processes. The setting's name is the context of the seal.

import type { Queries, Store } from '../store/store.ts';
import type { KeyRing } from './key-ring.ts';

/** Names of such settings begin with one of these; the others are not sealed. */
export const sealedPrefixes = { acmeAccount: 'acme-account:', quickNames: 'quick-names' } as const;

export async function sealedSettings(db: Queries): Promise<readonly { readonly name: string; readonly sealed: string }[]> {
  const rows = await db
    .selectFrom('settings')
    .selectAll()
    .where((eb) => eb.or(Object.values(sealedPrefixes).map((prefix) => eb('name', 'like', `${prefix}%`))))
    .execute();
  return rows.map(({ name, value }) => ({ name, sealed: JSON.parse(value) as string }));
}

/** The secret with this name; `make` makes it the first time. */
export async function keepSecret(store: Store, keyRing: KeyRing, name: string, make: () => string): Promise<string> {
  const find = (db: Queries) => db.selectFrom('settings').select('value').where('name', '=', name);
  const known = await find(store.db).executeTakeFirst();
  const { value } =
    known ??
    (await store.write(async (trx) => {
      const made = JSON.stringify(keyRing.seal(make(), name));
      await trx
        .insertInto('settings')
        .values({ name, value: made })
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute();
      return find(trx).executeTakeFirstOrThrow();
    }));
  return keyRing.open(JSON.parse(value) as string, name);
}

/** Seals with the newest key what an older one sealed; returns how many changed. */
export async function resealSettings(db: Queries, keyRing: KeyRing): Promise<number> {
  const rows = await sealedSettings(db);
  const stale = rows.filter((row) => keyRing.isStale(row.sealed));
  for (const { name, sealed } of stale) {
    const value = JSON.stringify(keyRing.seal(keyRing.open(sealed, name), name));
    await db.updateTable('settings').set({ value }).where('name', '=', name).execute();
  }
  return stale.length;
}
