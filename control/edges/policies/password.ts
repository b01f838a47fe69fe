// Hashes passwords with scrypt. Each takes 32 MiB and a quarter of a second of a thread, so few run at once.

import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { createTurns } from '../../platform/limit/turns.ts';

/** OWASP's advice for scrypt with 32 MiB: N = 2^15, r = 8, p = 3. */
const cost = { log2N: 15, r: 8, p: 3 } as const;
const saltBytes = 16;
const hashBytes = 32;

/** Two of the four threads that Node has for such work: files and DNS need the others. */
const atOnce = 2;
const waiting = 50;
const takeTurn = createTurns(atOnce, waiting, 'Too many people enter passwords at the moment. Please try again soon.');

interface Cost {
  readonly log2N: number;
  readonly r: number;
  readonly p: number;
}

function derive(password: string, salt: Buffer, { log2N, r, p }: Cost, length: number): Promise<Buffer> {
  const options: ScryptOptions = { N: 2 ** log2N, r, p, maxmem: 256 * 2 ** log2N * r };
  return takeTurn(
    'scrypt',
    () =>
      new Promise((resolve, reject) => {
        scrypt(password.normalize('NFC'), salt, length, options, (error, key) => (error ? reject(error) : resolve(key)));
      }),
  );
}

/** `scrypt$log2N$r$p$salt$hash`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const hash = await derive(password, salt, cost, hashBytes);
  const { log2N, r, p } = cost;
  return ['scrypt', log2N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/** False also if the stored text is not a hash. */
export async function checkPassword(stored: string, password: string): Promise<boolean> {
  const [name, log2N, r, p, salt = '', hash = ''] = stored.split('$');
  const right = Buffer.from(hash, 'base64url');
  if (name !== 'scrypt' || right.length !== hashBytes) return false;
  const given = { log2N: Number(log2N), r: Number(r), p: Number(p) };
  return timingSafeEqual(right, await derive(password, Buffer.from(salt, 'base64url'), given, right.length));
}
