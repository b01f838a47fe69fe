import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { dayMs } from '@underpass/rules/limits.ts';
import { certificateLimits } from '@underpass/rules/tunnel/own-certificate.ts';
import type { OwnChain } from '../own-certificate/own-rows.ts';
import { readOwnChain } from './read-chain.ts';
import { type Issued, issue, type Wanted } from './test-kit-chain.ts';

const nowMs = Date.now();
const host = 'app.example.com';

let [root, middle, leaf]: Issued[] = [];
before(async () => {
  root = await issue('Root', nowMs, undefined);
  middle = await issue('Middle', nowMs, root, { until: nowMs + 40 * dayMs });
  leaf = await issue('leaf', nowMs, middle, { hosts: [host, 'other.example.net'] });
});

const read = (chain: string, privateKey = leaf!.keyPem, name = host) => readOwnChain({ host: name, chain, privateKey }, nowMs);
const subjects = ({ chainPem }: OwnChain): readonly string[] =>
  (chainPem.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []).map((pem) => new X509Certificate(pem).subject);

describe('a chain', () => {
  it('is put into the order of its signatures, without the root, duplicates and strangers', async () => {
    const stranger = await issue('Stranger', nowMs, undefined);
    const parts = [root!, leaf!, stranger, middle!, leaf!].map(({ pem }) => pem);
    for (const chain of [parts.join('\n'), parts.toReversed().join('text between\r\n')]) {
      const parsed = read(chain);
      assert.ok(parsed.ok, JSON.stringify(parsed));
      assert.deepEqual(subjects(parsed.value), ['CN=leaf', 'CN=Middle']);
      assert.equal(parsed.value.warning, 'Only visitors who know the authority ‘Root’ trust this certificate.');
      assert.equal(Math.round((parsed.value.expiresAt - nowMs) / dayMs), 40, 'it ends with the first certificate of the chain');
    }
  });

  it('keeps an authority of the same name out that did not sign', async () => {
    const impostor = await issue('Middle', nowMs, undefined);
    const parsed = read(impostor.pem + leaf!.pem);
    assert.ok(parsed.ok);
    assert.deepEqual(subjects(parsed.value), ['CN=leaf']);
    assert.match(parsed.value.warning, /No public authority signed the last certificate.*Add the certificate of ‘Middle’/);
  });

  it('serves every name that a certificate may cover, and a wildcard by its own name alone', async () => {
    const wild = await issue('wild', nowMs, root, { hosts: ['*.example.com'] });
    const take = (name: string) => read(wild.pem, wild.keyPem, name).ok;
    assert.deepEqual(
      [take(host), take('*.example.com'), take('example.com'), take('a.b.example.com')],
      [true, true, false, false],
    );
    assert.equal(read(leaf!.pem, leaf!.keyPem, '*.example.com').ok, false);
  });

  it('of each kind that browsers take is accepted', async () => {
    for (const key of ['P-256', 'P-384', 'RSA 2048'] as const) {
      const made = await issue('leaf', nowMs, root, { hosts: [host], key });
      assert.ok(read(made.pem, made.keyPem).ok, key);
    }
  });

  const refusedLeaves: readonly [wanted: Wanted, message: RegExp][] = [
    [{ hosts: ['other.example.com'] }, /not for app\.example\.com\. It is for other\.example\.com\./],
    [{ hosts: [host], until: nowMs - 1_000 }, /The certificate ended on \d{4}-/],
    [{ hosts: [host], from: nowMs + dayMs }, /The certificate begins on \d{4}-/],
    [{ hosts: [host], key: 'RSA 1024' }, /from 2048 to 4096 bits, not 1024/],
    [{ hosts: [host], key: 'P-521' }, /kinds RSA, ECDSA P-256 and ECDSA P-384 only/],
    [{ hosts: [host], isAuthority: true }, /belongs to an authority/],
    [{ hosts: [host], usage: '1.3.6.1.5.5.7.3.2' }, /not for servers/],
  ];
  for (const [wanted, message] of refusedLeaves)
    it(`is refused: ${message.source}`, async () => {
      const made = await issue('leaf', nowMs, root, wanted);
      const parsed = read(made.pem, made.keyPem);
      assert.match(parsed.ok ? '' : parsed.message, message);
    });

  it('whose intermediate has ended is refused', async () => {
    const ended = await issue('Ended', nowMs, root, { until: nowMs - dayMs });
    const made = await issue('leaf', nowMs, ended, { hosts: [host] });
    const parsed = read(made.pem + ended.pem, made.keyPem);
    assert.match(parsed.ok ? '' : parsed.message, /Certificate 2 of the chain ended/);
  });
});

describe('a text', () => {
  const texts: readonly [what: string, chain: () => string, message: RegExp][] = [
    ['nothing', () => '', /No certificate found/],
    ['DER', () => '\u0030\u0082', /No certificate found/],
    ['a cut', () => leaf!.pem.slice(0, -30), /cut off/],
    ['damage', () => leaf!.pem.replace('MII', 'AAA'), /Certificate 1 of the text cannot be read/],
    ['the key as well', () => leaf!.pem + leaf!.keyPem, /hold a private key/],
    ['too many', () => leaf!.pem.repeat(certificateLimits.chainCertificates + 1), /at most 10 certificates, not 11/],
    ['too much', () => leaf!.pem + ' '.repeat(certificateLimits.chainChars), /at most 65536 characters/],
  ];
  for (const [what, chain, message] of texts)
    it(`that is ${what} is refused in words`, () => {
      const parsed = read(chain());
      assert.match(parsed.ok ? '' : parsed.message, message);
    });
});

describe('a key', () => {
  const keys: readonly [what: string, key: () => string, message: RegExp][] = [
    ['of another certificate', () => root!.keyPem, /does not belong to the certificate/],
    ['missing', () => '', /No private key found/],
    ['damaged', () => leaf!.keyPem.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA'), /cannot be read/],
    ['too long', () => leaf!.keyPem + ' '.repeat(certificateLimits.keyChars), /at most 16384 characters/],
    [
      'encrypted',
      () =>
        createPrivateKey(leaf!.keyPem)
          .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
          .toString(),
      /encrypted.*openssl pkey/,
    ],
  ];
  for (const [what, key, message] of keys)
    it(`that is ${what} is refused, and the text shows nothing of it`, () => {
      const parsed = read(leaf!.pem, key());
      const text = parsed.ok ? '' : parsed.message;
      assert.match(text, message);
      for (const line of leaf!.keyPem.split('\n')) assert.ok(line.length < 20 || line.startsWith('---') || !text.includes(line));
    });

  it('whose public half alone fits the certificate is refused', async () => {
    const made = await issue('leaf', nowMs, root, { hosts: [host], key: 'RSA 2048' });
    const key = createPrivateKey(made.keyPem);
    const der = key.export({ type: 'pkcs8', format: 'der' });
    const jwk = key.export({ format: 'jwk' });
    // OpenSSL falls back from the short way to the long one: both must be wrong.
    for (const part of [jwk.d, jwk.dp, jwk.dq, jwk.qi]) der[der.indexOf(Buffer.from(part!, 'base64url')) + 40]! ^= 1;
    const damaged = createPrivateKey({ key: der, type: 'pkcs8', format: 'der' });
    const parsed = read(made.pem, damaged.export({ type: 'pkcs8', format: 'pem' }).toString());
    assert.match(parsed.ok ? '' : parsed.message, /private key is damaged/);
  });
});
