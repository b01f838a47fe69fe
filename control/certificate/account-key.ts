// The ACME account's key: made once for each directory, sealed in the store, shared by all control processes.

import type { KeyRing } from '../secret/key-ring.ts';
import type { Store } from '../store/store.ts';
import { createAccountKeyPem } from './acme/jws.ts';

const settingName = (directory: string): string => `acme-account:${directory}`;

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
