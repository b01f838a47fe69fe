// The key of the ACME account: made once per directory, sealed in the store.

import type { KeyRing } from '../../../platform/secret/key-ring.ts';
import { keepSecret, sealedPrefixes } from '../../../platform/secret/sealed-setting.ts';
import type { Store } from '../../../platform/store/store.ts';
import { createAccountKeyPem } from './jws.ts';

export const keepAccountKey = (store: Store, keyRing: KeyRing, directory: string): Promise<string> =>
  keepSecret(store, keyRing, `${sealedPrefixes.acmeAccount}${directory}`, createAccountKeyPem);
