// An authenticator in software for tests, which can also answer wrongly. It encodes CBOR itself, as an oracle for the library.

import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { Passkey, PasskeyOptions } from '@underpass/rules/entity/resource.ts';
import { type TestClient, testOrigin } from '../../test-kit.ts';

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: string | Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

type Cbor = number | string | Uint8Array | readonly Cbor[] | ReadonlyMap<number | string, Cbor>;

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  if (length < 256) return Buffer.from([(major << 5) | 24, length]);
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
}

function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map) {
    return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, each]) => [cbor(key), cbor(each as Cbor)])]);
  }
  const list = value as readonly Cbor[];
  return Buffer.concat([head(4, list.length), ...list.map(cbor)]);
}

function pointOf(key: KeyObject): readonly [Buffer, Buffer] {
  const { x, y } = key.export({ format: 'jwk' });
  return [Buffer.from(x!, 'base64url'), Buffer.from(y!, 'base64url')];
}

function coordinates(key: KeyObject): Cbor {
  const [X, Y] = pointOf(key);
  return new Map<number, Cbor>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, X],
    [-3, Y],
  ]);
}

/** What an answer says; a test changes what is to be wrong. */
export interface Twist {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  readonly flags?: number;
  readonly signCount?: number;
  readonly userHandle?: string;
  readonly id?: string;
  readonly format?: string;
  /** The attestation, or what makes it from the bytes that a U2F key signs (WebAuthn 8.6). */
  readonly statement?: ReadonlyMap<string, Cbor> | ((signed: Buffer) => ReadonlyMap<string, Cbor>);
}

const userPresent = 1;
const userVerified = 4;
const withKey = 64;
export const flagsOf = { unverified: userPresent, absent: userVerified };

export interface Authenticator {
  readonly id: string;
  /** The answer to `navigator.credentials.create`. */
  create(options: PasskeyOptions, twist?: Twist): object;
  /** The answer to `navigator.credentials.get`. */
  get(options: PasskeyOptions, twist?: Twist): object;
}

/** One passkey. With `counts`, its counter grows; otherwise it sends 0, like a passkey that devices share. */
export function createAuthenticator({ counts = true } = {}): Authenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const rawId = randomBytes(32);
  const id = base64(rawId);
  let signCount = 0;
  let userHandle = '';

  const clientData = (type: string, options: PasskeyOptions, twist: Twist): string =>
    base64(
      Buffer.from(
        JSON.stringify({
          type: twist.type ?? type,
          challenge: twist.challenge ?? options.challenge,
          origin: twist.origin ?? testOrigin,
          crossOrigin: twist.crossOrigin ?? false,
        }),
      ),
    );
  const authData = (flags: number, twist: Twist, rest = Buffer.alloc(0)): Buffer => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(twist.signCount ?? signCount);
    return Buffer.concat([sha256(twist.rpId ?? new URL(testOrigin).hostname), Buffer.from([flags]), count, rest]);
  };
  return {
    id,
    create: (options, twist = {}) => {
      userHandle = (options as unknown as { user: { id: string } }).user.id;
      const length = Buffer.from([0, rawId.length]);
      const attested = Buffer.concat([Buffer.alloc(16), length, rawId, cbor(coordinates(publicKey))]);
      const data = authData((twist.flags ?? userPresent | userVerified) | withKey, twist, attested);
      const clientDataJSON = clientData('webauthn.create', options, twist);
      const told = [data.subarray(0, 32), sha256(Buffer.from(clientDataJSON, 'base64url')), rawId];
      const { statement = new Map<string, Cbor>() } = twist;
      const signed = Buffer.concat([Buffer.from([0]), ...told, Buffer.from([4]), ...pointOf(publicKey)]);
      const attestation = new Map<string, Cbor>([
        ['fmt', twist.format ?? 'none'],
        ['attStmt', typeof statement === 'function' ? statement(signed) : statement],
        ['authData', data],
      ]);
      const response = {
        clientDataJSON,
        attestationObject: base64(cbor(attestation)),
        transports: ['internal'],
      };
      return { id: twist.id ?? id, rawId: twist.id ?? id, type: 'public-key', response, clientExtensionResults: {} };
    },
    get: (options, twist = {}) => {
      if (counts) signCount += 1;
      const clientDataJSON = clientData('webauthn.get', options, twist);
      const data = authData(twist.flags ?? userPresent | userVerified, twist);
      const signed = Buffer.concat([data, sha256(Buffer.from(clientDataJSON, 'base64url'))]);
      const response = {
        clientDataJSON,
        authenticatorData: base64(data),
        signature: base64(sign('sha256', signed, privateKey)),
        userHandle: twist.userHandle ?? userHandle,
      };
      return { id: twist.id ?? id, rawId: twist.id ?? id, type: 'public-key', response, clientExtensionResults: {} };
    },
  };
}

export const askOptions = (browser: TestClient, path: string): Promise<PasskeyOptions> => browser.call('POST', path);

/** Adds a passkey in a session that may do so. */
export async function addPasskey(browser: TestClient, name = 'Laptop', key = createAuthenticator()) {
  const options = await askOptions(browser, '/api/passkeys/options');
  const { id } = await browser.call<Passkey>('POST', '/api/passkeys', { name, credential: key.create(options) });
  return { id, key };
}

export async function signInWith(browser: TestClient, key: Authenticator, twist?: Twist): Promise<Response> {
  const options = await askOptions(browser, '/auth/passkey/options');
  return browser.send('POST', '/auth/passkey', { credential: key.get(options, twist) });
}

export async function proveWith(browser: TestClient, key: Authenticator, twist?: Twist): Promise<Response> {
  const options = await askOptions(browser, '/api/proof/options');
  return browser.send('POST', '/api/proof/passkey', { credential: key.get(options, twist) });
}

/** A session by e-mail link of the same person: all that a thief of the mailbox gets. */
export async function signInByLink(browser: TestClient, url: string): Promise<TestClient> {
  await browser.call('POST', '/auth/login', new URLSearchParams({ token: new URL(url).pathname.split('/').at(-1) ?? '' }));
  return browser;
}

export async function expectStatus(response: Response | Promise<Response>, status: number, why = 'the refusal'): Promise<void> {
  const { status: found, headers } = await response;
  assert.deepEqual([found, headers.get('underpass-error')], [status, status === 403 ? 'UNDERPASS_PASSKEY_NEEDED' : null], why);
}
