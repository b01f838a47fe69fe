// The ACME account's key: made once for each directory, sealed in the store, shared by all control processes.

import type { KeyRing } from '../secret/key-ring.ts';
import type { Queries, Store } from '../store/store.ts';
import { createAccountKeyPem } from './acme/jws.ts';

const prefix = 'acme-account:';
const settingName = (directory: string): string => `${prefix}${directory}`;

/** Every account's sealed key, with the name that it is sealed for. */
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
