// Encrypts what must be readable again (tunnel tokens, private keys) with AES-256-GCM. The newest key seals; every key opens.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

export interface KeyRing {
  /** `context` names the table and row id of what is sealed: a sealed text that is moved to another row does not open. */
  seal(text: string, context: string): string;
  open(sealed: string, context: string): string;
  /** True when the ring still has the key that sealed it. */
  canOpen(sealed: string): boolean;
  /** True when `sealed` was made by a key that is no longer the newest. */
  isStale(sealed: string): boolean;
  /**
   * Secrets for signatures, such as those of proof-of-work challenges; different for each `purpose`. The first signs; each may have
   * signed. Ask for them at each use: the keys may be replaced.
   */
  derive(purpose: string): readonly [newest: string, ...older: string[]];
  /** Takes other keys while the ring is in use. What no new key opens is lost: check that first. */
  replace(keys: readonly Buffer[]): void;
}

// The key's id is stored with what it sealed. 48 bits are enough to tell the few keys of a ring apart.
const keyId = (key: Buffer): string => createHash('sha256').update('key-id').update(key).digest('hex').slice(0, 12);

function sealWith(key: Buffer, text: string, context: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(context));
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return `${keyId(key)}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`;
}

function openWith(key: Buffer, body: Buffer, context: string): string {
  const decipher = createDecipheriv(algorithm, key, body.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(context)).setAuthTag(body.subarray(nonceBytes, nonceBytes + tagBytes));
  return decipher.update(body.subarray(nonceBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
}

function parseSealed(sealed: string): { id: string; body: Buffer } {
  const [id = '', body = ''] = sealed.split('.');
  return { id, body: Buffer.from(body, 'base64url') };
}

interface Held {
  readonly newest: Buffer;
  readonly byId: ReadonlyMap<string, Buffer>;
}

function hold(keys: readonly Buffer[]): Held {
  const newest = keys[0];
  if (!newest || keys.some((key) => key.length !== keyBytes)) throw new Error('key ring: needs keys of 32 bytes');
  return { newest, byId: new Map(keys.map((key) => [keyId(key), key])) };
}

const deriveFrom = (key: Buffer, purpose: string): string =>
  createHash('sha256').update(key).update(`purpose:${purpose}`).digest('base64url');

/** Newest key first, at least one, 32 bytes each. */
export function createKeyRing(keys: readonly Buffer[]): KeyRing {
  let held = hold(keys);
  return {
    seal: (text, context) => sealWith(held.newest, text, context),
    open: (sealed, context) => {
      const { id, body } = parseSealed(sealed);
      const key = held.byId.get(id);
      if (!key) throw new Error(`key ring: no key ${id}; it was removed before everything was sealed again`);
      return openWith(key, body, context);
    },
    canOpen: (sealed) => held.byId.has(parseSealed(sealed).id),
    isStale: (sealed) => parseSealed(sealed).id !== keyId(held.newest),
    derive: (purpose) => {
      const older = [...held.byId.values()].filter((key) => key !== held.newest);
      return [deriveFrom(held.newest, purpose), ...older.map((key) => deriveFrom(key, purpose))];
    },
    replace: (others) => {
      held = hold(others);
    },
  };
}
