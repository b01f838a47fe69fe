// Makes certificates of every shape for tests: chains of three, and leaves that something is wrong with.

import { webcrypto } from 'node:crypto';
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { dayMs } from '@underpass/rules/limits.ts';

x509.cryptoProvider.set(webcrypto as Crypto);

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const rsa = (modulusLength: number) => ({
  ...{ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength },
  publicExponent: new Uint8Array([1, 0, 1]),
});

const keyKinds = {
  'P-256': ecdsa,
  'P-384': { ...ecdsa, namedCurve: 'P-384' },
  'P-521': { ...ecdsa, namedCurve: 'P-521' },
  'RSA 1024': rsa(1024),
  'RSA 2048': rsa(2048),
} as const;

export interface Wanted {
  readonly hosts?: readonly string[];
  readonly key?: keyof typeof keyKinds;
  readonly from?: number;
  readonly until?: number;
  readonly isAuthority?: boolean;
  readonly usage?: string;
}

export interface Issued {
  readonly pem: string;
  readonly keyPem: string;
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly algorithm: (typeof keyKinds)[keyof typeof keyKinds];
}

export async function issue(name: string, nowMs: number, by: Issued | undefined, wanted: Wanted = {}): Promise<Issued> {
  const algorithm = keyKinds[wanted.key ?? 'P-256'];
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const signer = by ?? { keys, algorithm, certificate: undefined };
  const { hosts = [], isAuthority = hosts.length === 0, usage = x509.ExtendedKeyUsage.serverAuth } = wanted;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: Math.floor(Math.random() * 2 ** 40).toString(16),
    subject: [{ CN: [name] }],
    issuer: signer.certificate?.subject ?? `CN=${name}`,
    notBefore: new Date(wanted.from ?? nowMs - dayMs),
    notAfter: new Date(wanted.until ?? nowMs + 90 * dayMs),
    signingAlgorithm: signer.algorithm,
    publicKey: keys.publicKey,
    signingKey: signer.keys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(isAuthority, undefined, true),
      ...(isAuthority ? [] : [new x509.ExtendedKeyUsageExtension([usage])]),
      ...(hosts.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns', value })))]),
    ],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const keyPem = `-----BEGIN PRIVATE KEY-----\n${der.replace(/.{64}/g, '$&\n')}\n-----END PRIVATE KEY-----\n`;
  return { pem: `${certificate.toString('pem')}\n`, keyPem, certificate, keys, algorithm };
}
