// Checks that the keys of this process open every sealed secret in the database.

import { readSealed } from '@underpass/control/operator/sealed-rows.ts';
import type { Queries } from '@underpass/control/platform/store/store.ts';
import type { Settings } from '../settings/settings.ts';
import { keyFile } from './home.ts';
import type { State } from './state.ts';

/** Says in words which secrets no key opens; undefined if every secret opens. */
export async function findMissingKeys(
  db: Queries,
  { keyRing, clock }: Pick<State, 'keyRing' | 'clock'>,
  { home, masterKey }: Settings,
): Promise<string | undefined> {
  const lost = (await readSealed(db, clock())).filter((sealed) => !keyRing.canOpen(sealed)).length;
  const place = masterKey === undefined ? keyFile(home) : 'UNDERPASS_MASTER_KEY';
  return lost === 0 ? undefined : `${lost} secrets in it are sealed with a key that is not in ${place}`;
}
