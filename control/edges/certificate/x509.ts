// Keys, certificates and signing requests, over @peculiar/x509. Loads the library at the first use: most starts
// of a server do not need it, and it costs 18 MB.

import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { hourMs } from '@underpass/rules/limits.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

type KeyPair = Awaited<ReturnType<typeof createKeyPair>>;

async function loadLibrary() {
  await import('reflect-metadata');
  const library = await import('@peculiar/x509');
  library.cryptoProvider.set(crypto);
  return library;
}

const createKeyPair = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);

const fromPem = (pem: string) => Uint8Array.from(Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64'));

async function exportPrivateKey(keys: KeyPair): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}

const importPrivateKey = (pem: string) => crypto.subtle.importKey('pkcs8', fromPem(pem), algorithm, false, ['sign']);

/** 127 random bits (CA/Browser Forum BR 7.1 asks for 64); the clear top bit keeps the number positive. */
function createSerialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] ?? 0) & 0x7f || 1;
  return bytes.toString('hex');
}

/** SHA-256 of the certificate's DER, hex. */
export const fingerprintOf = (certificatePem: string): string =>
  createHash('sha256').update(new X509Certificate(certificatePem).raw).digest('hex');

interface Lifespan {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface CertificateWithKey {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

export async function createRoot(commonName: string, { notBefore, notAfter }: Lifespan): Promise<CertificateWithKey> {
  const x509 = await loadLibrary();
  const keys = await createKeyPair();
  const { keyCertSign, cRLSign } = x509.KeyUsageFlags;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: createSerialNumber(),
    name: [{ CN: [commonName] }],
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      // A path length of 0: it may sign leaves, not other authorities.
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(keyCertSign | cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificatePem: `${certificate.toString('pem')}\n`, privateKeyPem: await exportPrivateKey(keys) };
}

export async function issueLeaf(
  root: CertificateWithKey,
  hosts: readonly string[],
  { notBefore, notAfter }: Lifespan,
): Promise<CertificateWithKey> {
  const x509 = await loadLibrary();
  const keys = await createKeyPair();
  const issuer = new x509.X509Certificate(root.certificatePem);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: createSerialNumber(),
    subject: [{ CN: [(hosts[0] ?? '').slice(0, 64)] }],
    issuer: issuer.subject,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await importPrivateKey(root.privateKeyPem),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns' as const, value }))),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return { certificatePem: `${certificate.toString('pem')}\n`, privateKeyPem: await exportPrivateKey(keys) };
}

/** Reads the leaf, which is the first certificate of the chain; undefined if it has no such extension. */
export async function readAuthorityKeyId(chainPem: string): Promise<Buffer | undefined> {
  const x509 = await loadLibrary();
  const [leaf = ''] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(chainPem) ?? [];
  const extension = new x509.X509Certificate(leaf).getExtension(x509.AuthorityKeyIdentifierExtension);
  return extension?.keyId === undefined ? undefined : Buffer.from(extension.keyId, 'hex');
}

interface SigningRequest {
  /** DER. */
  readonly request: Buffer;
  readonly privateKeyPem: string;
}

export async function createSigningRequest(hosts: readonly string[]): Promise<SigningRequest> {
  const x509 = await loadLibrary();
  const keys = await createKeyPair();
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns' as const, value })))],
  });
  return { request: Buffer.from(request.rawData), privateKeyPem: await exportPrivateKey(keys) };
}

/** id-pe-acmeIdentifier. */
const acmeIdentifierOid = '1.3.6.1.5.5.7.1.31';

/** The certificate that proves a host by tls-alpn-01 (RFC 8737 3): the digest is in a critical extension. */
export async function createAlpnCertificate(host: string, keyAuthorization: string, nowMs: number): Promise<CertificateWithKey> {
  const x509 = await loadLibrary();
  const keys = await createKeyPair();
  const digest = createHash('sha256').update(keyAuthorization).digest();
  // DER: an OCTET STRING of 32 bytes.
  const value = Buffer.concat([Buffer.from([0x04, digest.length]), digest]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: createSerialNumber(),
    name: [{ CN: ['ACME challenge'] }],
    notBefore: new Date(nowMs - hourMs),
    notAfter: new Date(nowMs + hourMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }]),
      new x509.Extension(acmeIdentifierOid, true, value),
    ],
  });
  return { certificatePem: `${certificate.toString('pem')}\n`, privateKeyPem: await exportPrivateKey(keys) };
}
