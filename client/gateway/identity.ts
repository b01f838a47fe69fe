// The identity of a gateway: a key and a certificate that this machine makes once. Visitors trust it by its pin, so no
// authority signs it, no name is in it and it does not expire.
import { createPrivateKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createPrivateFile } from '../account/credentials.ts';
import { readNamed } from '../process/bounded-file.ts';
import { ClientError } from '../process/error.ts';

export interface Identity {
  readonly keyPem: string;
  readonly certificatePem: string;
  /** SHA-256 of the certificate's DER, hex. */
  readonly pin: string;
}

/** A key and a certificate on P-256 take 800 bytes. */
const maxIdentityBytes = 16 * 1024;

/** Reads the identity, or makes it at the first start. */
export async function loadIdentity(path: string, code: 'ssh-identity-invalid' | 'reach-key-invalid'): Promise<Identity> {
  if (await isMissing(path)) await createPrivateFile(path, createIdentity());
  const text = await readNamed(path, maxIdentityBytes, code);
  const identity = parseIdentity(text);
  if (identity === null) throw new ClientError(code, path);
  return identity;
}

export async function isMissing(path: string): Promise<boolean> {
  return readFile(path).then(
    () => false,
    (cause: NodeJS.ErrnoException) => cause.code === 'ENOENT',
  );
}

export function parseIdentity(text: string): Identity | null {
  const block = (label: string) => new RegExp(`-----BEGIN ${label}-----[^-]*-----END ${label}-----`).exec(text)?.[0] ?? '';
  const [keyPem, certificatePem] = [block('(?:EC |RSA )?PRIVATE KEY'), block('CERTIFICATE')];
  try {
    const certificate = new X509Certificate(certificatePem);
    if (!certificate.checkPrivateKey(createPrivateKey(keyPem))) return null;
    return { keyPem, certificatePem, pin: pinOf(certificate) };
  } catch {
    return null;
  }
}

export const pinOf = (certificate: X509Certificate): string => certificate.fingerprint256.replaceAll(':', '').toLowerCase();

/** PEM of a new key and its self-signed certificate. */
export function createIdentity(): string {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const body = certificateBody(publicKey.export({ type: 'spki', format: 'der' }));
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, ecdsaWithSha256, der(tag.bitString, Buffer.concat([Buffer.of(0), signature])));
  const lines = certificate.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return `${privateKey.export({ type: 'pkcs8', format: 'pem' })}-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

// X.690 8.1: tag, length, content. The lengths here need at most two bytes.
const tag = { integer: 0x02, bitString: 0x03, oid: 0x06, utf8: 0x0c, utcTime: 0x17, time: 0x18, sequence: 0x30, set: 0x31 };

function der(type: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(type, ...size), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(tag.sequence, Buffer.concat(parts));

/** 1.2.840.10045.4.3.2 */
const ecdsaWithSha256 = sequence(der(tag.oid, Buffer.from('2a8648ce3d040302', 'hex')));
/** 2.5.4.3, the common name */
const commonName = der(tag.oid, Buffer.from('550403', 'hex'));

/** RFC 5280 4.1, version 1: without extensions. 4.1.2.5: the last second of 9999 means that it does not expire. */
function certificateBody(publicKeyInfo: Buffer): Buffer {
  const name = sequence(der(tag.set, sequence(commonName, der(tag.utf8, Buffer.from('underpass ssh')))));
  const validity = sequence(der(tag.utcTime, Buffer.from('200101000000Z')), der(tag.time, Buffer.from('99991231235959Z')));
  const serial = randomBytes(16);
  // Positive and in the shortest form: the first bit is 0, the next one 1.
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  return sequence(der(tag.integer, serial), ecdsaWithSha256, name, validity, name, publicKeyInfo);
}
