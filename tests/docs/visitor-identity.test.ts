// The examples of docs/visitor-identity.md accept a right assertion and refuse every wrong one.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { copyFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { requireTool, skipWithout } from '../helpers/tool.ts';
import { readBlocks } from './page.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const audience = 'https://app.example.com';
const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });

interface Changes {
  readonly key?: KeyObject;
  readonly head?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly signature?: string;
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function assertion(issuer: string, { key = own.privateKey, head = {}, claims = {}, signature }: Changes = {}): string {
  const nowS = Math.floor(Date.now() / 1000);
  const body = [
    part({ alg: 'ES256', typ: 'JWT', kid: 'k1', ...head }),
    part({ iss: issuer, aud: audience, sub: 'ann@example.com', iat: nowS, exp: nowS + 300, ...claims }),
  ].join('.');
  const signed = createSign('sha256').update(body).sign({ key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  return `${body}.${signature ?? signed}`;
}

const wrong: readonly (readonly [title: string, changes: Changes])[] = [
  ['signed by another key', { key: other.privateKey }],
  ['of another tunnel', { claims: { aud: 'https://other.example.com' } }],
  ['of another server', { claims: { iss: 'https://other.example.com' } }],
  ['that has ended', { claims: { exp: 1 } }],
  ['without an end', { claims: { exp: undefined } }],
  ['without a signature', { head: { alg: 'none' }, signature: '' }],
  ['with an unknown key', { head: { kid: 'k2' } }],
];

describe('the examples that check an assertion', { skip: skipWithout('go', 'python3') }, () => {
  let folder = '';
  let issuer = '';
  const server = createServer((request, answer) => {
    assert.equal(request.url, '/access/keys/app.example.com');
    const jwk = { ...own.publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256', use: 'sig' };
    answer.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
  });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'verify-'));
    const page = await readFile(join(root, 'docs/visitor-identity.md'), 'utf8');
    for (const { values, text } of readBlocks('docs/visitor-identity.md', page)) {
      if (values.file !== undefined) await writeFile(join(folder, values.file), text);
    }
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const name of ['go.mod', 'go.sum']) await copyFile(join(root, 'tests/docs/verify-in-go', name), join(folder, name));
    await run(requireTool('go'), ['build', '-o', 'verify-go', '.'], { cwd: folder, timeout: 120_000 });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.close();
    await rm(folder, { recursive: true, force: true });
  });

  const languages: Readonly<Record<string, () => [file: string, first: readonly string[]]>> = {
    Node: () => [process.execPath, ['verify.mjs']],
    Go: () => [join(folder, 'verify-go'), []],
    Python: () => [requireTool('python3'), ['verify.py']],
  };
  for (const [language, program] of Object.entries(languages)) {
    const verify = (text: string) => {
      const [file, first] = program();
      return run(file, [...first, audience, issuer, text], { cwd: folder, timeout: 30_000 });
    };
    it(`${language}: names the visitor of a right assertion`, async () => {
      assert.equal((await verify(assertion(issuer))).stdout, 'ann@example.com\n');
    });
    it(`${language}: refuses every wrong one, and prints nothing`, async () => {
      await Promise.all(
        wrong.map(([title, changes]) =>
          assert.rejects(verify(assertion(issuer, changes)), (error: { code?: number; stdout?: string }) => {
            assert.deepEqual([error.code !== 0, error.stdout], [true, ''], title);
            return true;
          }),
        ),
      );
    });
  }
});
