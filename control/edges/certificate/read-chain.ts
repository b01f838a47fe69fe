// Reads a certificate and its key as a person pastes them: in any order, perhaps with the root. Says in words what visitors or edges
// could not use. Reads nothing into an error text but names that are in the certificates.

import { createPrivateKey, type KeyObject, sign, verify, X509Certificate } from 'node:crypto';
import { createSecureContext, rootCertificates } from 'node:tls';
import { accept, type Parsed, refuse } from '@underpass/rules/parsed.ts';
import { certificateLimits } from '@underpass/rules/tunnel/own-certificate.ts';
import type { OwnChain } from '../own-certificate/own-rows.ts';
import { namesServing } from './core/wanted.ts';
import { hostsOf } from './given-files.ts';

interface Pasted {
  readonly host: string;
  readonly chain: string;
  readonly privateKey: string;
}

const serverAuthOid = '1.3.6.1.5.5.7.3.1';
/** Curves that browsers take in certificates. */
const curves: ReadonlyMap<string, string> = new Map([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
]);

export function readOwnChain({ host, chain, privateKey }: Pasted, nowMs: number): Parsed<OwnChain> {
  const given = parseCertificates(chain);
  if (!given.ok) return given;
  const key = parseKey(privateKey);
  if (!key.ok) return key;
  const leaf = given.value.find((each) => each.checkPrivateKey(key.value));
  if (leaf === undefined) return refuse(`The key does not belong to ${given.value.length === 1 ? 'the' : 'any'} certificate.`);
  const ordered = orderChain(leaf, given.value);
  const problem = problemOfKey(leaf, key.value) ?? problemOfLeaf(leaf, host) ?? problemOfDates(ordered, nowMs);
  if (problem !== undefined) return refuse(problem);
  const own: OwnChain = {
    chainPem: ordered.map((each) => each.toString()).join(''),
    privateKeyPem: key.value.export({ type: 'pkcs8', format: 'pem' }).toString(),
    startsAt: Math.max(...ordered.map((each) => each.validFromDate.getTime())),
    expiresAt: Math.min(...ordered.map((each) => each.validToDate.getTime())),
    warning: warningOf(ordered.at(-1)!, given.value),
  };
  return isServable(own) ? accept(own) : refuse('The edges cannot serve this certificate: its signature or key is too weak.');
}

function parseCertificates(text: string): Parsed<readonly X509Certificate[]> {
  const { chainChars, chainCertificates } = certificateLimits;
  if (text.length > chainChars) return refuse(`The certificates may have at most ${chainChars} characters.`);
  if (text.includes('PRIVATE KEY-----')) return refuse('The certificates hold a private key. Give the key by itself.');
  const count = text.split('-----BEGIN CERTIFICATE-----').length - 1;
  if (count === 0) return refuse('No certificate found. Give PEM text that begins with -----BEGIN CERTIFICATE-----.');
  if (count > chainCertificates) return refuse(`The chain may have at most ${chainCertificates} certificates, not ${count}.`);
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length !== count) return refuse('A certificate is cut off: its -----END CERTIFICATE----- is missing.');
  const read = [...new Set(blocks)].map(readCertificate);
  const bad = read.indexOf(undefined);
  return bad === -1
    ? accept(read as readonly X509Certificate[])
    : refuse(`Certificate ${bad + 1} of the text cannot be read. Copy it again.`);
}

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function parseKey(text: string): Parsed<KeyObject> {
  const { keyChars } = certificateLimits;
  if (text.length > keyChars) return refuse(`The key may have at most ${keyChars} characters.`);
  if (!text.includes('PRIVATE KEY-----'))
    return refuse('No private key found. Give PEM text that begins with -----BEGIN PRIVATE KEY-----.');
  if (text.includes('ENCRYPTED'))
    return refuse('The key is encrypted. Decrypt it first: openssl pkey -in encrypted.pem -out key.pem');
  try {
    return accept(createPrivateKey(text));
  } catch {
    return refuse('The private key cannot be read. Copy it again.');
  }
}

/** Each after the one that it signed. Leaves out the root, and what does not belong to the leaf. */
function orderChain(leaf: X509Certificate, given: readonly X509Certificate[]): readonly X509Certificate[] {
  const chain = [leaf];
  for (let last = leaf; !isSelfSigned(last); last = chain.at(-1)!) {
    const issuer = given.find((each) => !chain.includes(each) && each.ca && isSigned(last, each));
    if (issuer === undefined || isSelfSigned(issuer)) break;
    chain.push(issuer);
  }
  return chain;
}

function isSigned(certificate: X509Certificate, by: X509Certificate): boolean {
  try {
    return certificate.checkIssued(by) && certificate.verify(by.publicKey);
  } catch {
    return false;
  }
}

const isSelfSigned = (certificate: X509Certificate): boolean => certificate.subject === certificate.issuer;

/** A large key would cost the edges much for each visitor. */
function problemOfKey(leaf: X509Certificate, key: KeyObject): string | undefined {
  const { rsaBitsLeast, rsaBitsMost } = certificateLimits;
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key;
  const bits = details.modulusLength ?? 0;
  if (type === 'rsa' && (bits < rsaBitsLeast || bits > rsaBitsMost))
    return `An RSA key must have from ${rsaBitsLeast} to ${rsaBitsMost} bits, not ${bits}.`;
  if (type !== 'rsa' && !curves.has(details.namedCurve ?? ''))
    return 'Browsers take keys of the kinds RSA, ECDSA P-256 and ECDSA P-384 only.';
  // The public half may be right in a key that signs wrong.
  const probe = Buffer.from('underpass');
  try {
    if (verify('sha256', probe, leaf.publicKey, sign('sha256', probe, key))) return undefined;
  } catch {}
  return 'The private key is damaged: what it signs does not fit the certificate.';
}

function problemOfLeaf(leaf: X509Certificate, host: string): string | undefined {
  if (leaf.ca) return 'The key belongs to an authority’s certificate. Give the certificate of the server.';
  if (leaf.keyUsage !== undefined && !leaf.keyUsage.includes(serverAuthOid)) return 'The certificate is not for servers.';
  const names = hostsOf(leaf);
  if (namesServing(host).some((name) => names.includes(name))) return undefined;
  const shown = names.slice(0, 3).join(', ').slice(0, 200);
  return `The certificate is not for ${host}${shown === '' ? ': it names no host' : `. It is for ${shown}`}${names.length > 3 ? ' and more' : ''}.`;
}

function problemOfDates(chain: readonly X509Certificate[], nowMs: number): string | undefined {
  for (const [at, { validFromDate, validToDate }] of chain.entries()) {
    const which = at === 0 ? 'The certificate' : `Certificate ${at + 1} of the chain`;
    if (validToDate.getTime() <= nowMs) return `${which} ended on ${dayOf(validToDate)}.`;
    if (validFromDate.getTime() > nowMs) return `${which} begins on ${dayOf(validFromDate)}.`;
  }
  return undefined;
}

const dayOf = (date: Date): string => date.toISOString().slice(0, 10);

/** The edges' own test of it. */
function isServable({ chainPem, privateKeyPem }: OwnChain): boolean {
  try {
    createSecureContext({ cert: chainPem, key: privateKeyPem, minVersion: 'TLSv1.2' });
    return true;
  } catch {
    return false;
  }
}

/** The authority of a company is known to its own machines alone; more often an intermediate was left out. */
function warningOf(last: X509Certificate, given: readonly X509Certificate[]): string {
  if (isSelfSigned(last)) return 'The certificate is signed by itself: browsers warn their visitors.';
  if (rootCertificates.some((pem) => isSigned(last, new X509Certificate(pem)))) return '';
  const issuer = commonNameOf(last.issuer);
  if (given.some((each) => isSelfSigned(each) && isSigned(last, each)))
    return `Only visitors who know the authority ${issuer} trust this certificate.`;
  return `No public authority signed the last certificate of the chain. Add the certificate of ${issuer}, unless it is an authority that your visitors know.`;
}

const commonNameOf = (name: string): string => `‘${(/^CN=(.+)$/m.exec(name)?.[1] ?? name.replaceAll('\n', ', ')).slice(0, 100)}’`;

interface ChainFacts {
  readonly names: readonly string[];
  readonly issuer: string;
  readonly keyType: string;
  /** SHA-256 of the leaf's DER, hex. */
  readonly fingerprint: string;
}

/** What people may know of a stored chain. */
export function describeChain(chainPem: string): ChainFacts {
  const leaf = new X509Certificate(chainPem);
  const { asymmetricKeyType, asymmetricKeyDetails: details = {} } = leaf.publicKey;
  const curve = curves.get(details.namedCurve ?? '');
  return {
    names: hostsOf(leaf).slice(0, certificateLimits.shownNames),
    issuer: commonNameOf(leaf.issuer).slice(1, -1),
    keyType: asymmetricKeyType === 'rsa' ? `RSA ${details.modulusLength}` : `ECDSA ${curve ?? ''}`,
    fingerprint: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}
