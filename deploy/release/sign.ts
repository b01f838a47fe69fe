// The key that signs releases, the sums that it signs, and the public key that every program holds to check them.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The key of UNDERPASS_RELEASE_KEY (PEM) or UNDERPASS_RELEASE_KEY_FILE; without them a development key, made once in UNDERPASS_HOME.
 * Programs trust only the key that they were built with: if it is lost, their `update` refuses all later releases.
 */
export function releaseKey(env: Env): KeyObject {
  const file = env.UNDERPASS_RELEASE_KEY_FILE;
  const pem = env.UNDERPASS_RELEASE_KEY ?? (file ? readFileSync(file, 'utf8') : developmentKey(env));
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`the release key is ${key.asymmetricKeyType}, wanted is ed25519`);
  return key;
}

function developmentKey(env: Env): string {
  const home = env.UNDERPASS_HOME ?? join(env.XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'underpass');
  const path = join(home, 'release-key.pem');
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const { privateKey } = generateKeyPairSync('ed25519');
    writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  }
  return readFileSync(path, 'utf8');
}

/** The public key that the build puts into the program: SPKI, base64. */
export function publicHalf(key: KeyObject): string {
  return createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
}

/** The public key that the server puts into the installers. */
export function publicPem(key: KeyObject): string {
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
}

export interface SummedFile {
  readonly name: string;
  readonly sha256: string;
}

export function sha256Of(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** What `sha256sum -c` reads. */
export function renderSums(files: readonly SummedFile[]): string {
  return files.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('');
}

export function signSums(sums: string, key: KeyObject): string {
  return `${sign(null, Buffer.from(sums), key).toString('base64')}\n`;
}
