// The public key of the releases' signatures: the release build puts it beside them, and installers contain it.

import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** SPKI in base64; empty if there is no Ed25519 key. */
export async function readReleaseKey(folder: string | undefined): Promise<string> {
  const pem = folder === undefined ? '' : await readFile(join(folder, 'release-key.pem'), 'utf8').catch(() => '');
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key.export({ type: 'spki', format: 'der' }).toString('base64') : '';
  } catch {
    return '';
  }
}
