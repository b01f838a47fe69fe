// The public half of the key that signs releases: the release build leaves it beside them, installers carry it.

import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** SPKI, base64; empty where there is none, or something else than an Ed25519 key. */
export const readReleaseKey = async (folder: string | undefined): Promise<string> => {
  const pem = folder === undefined ? '' : await readFile(join(folder, 'release-key.pem'), 'utf8').catch(() => '');
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key.export({ type: 'spki', format: 'der' }).toString('base64') : '';
  } catch {
    return '';
  }
};
