import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { accountRoutes, createCli, startFakeApi } from '../test-kit.ts';

const own = {
  ...{ names: ['app.example.com'], issuer: 'Corp CA', keyType: 'RSA 2048', fingerprint: 'ab12', fallback: false },
  ...{ from: '2026-11-01T00:00:00.000Z', until: '2027-02-01T00:00:00.000Z', warning: 'Add the certificate of ‘Corp CA’.' },
};
const tunnel = {
  name: 'shop',
  type: 'http',
  ingressDomains: [{ name: 'app.example.com', apexName: 'example.com', verified: true }],
};

test('show --json names the record that the wildcard of a tunnel needs', async (t) => {
  const record = { name: '_acme-challenge.apps.example.com', value: 'abc.proofs.example.net' };
  const wild = { ...tunnel, ingressDomains: [{ ...tunnel.ingressDomains[0], name: '*.apps.example.com' }] };
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'GET /api/tunnels': { body: [wild] },
    'GET /api/tunnels/shop/domains/*.apps.example.com/certificate': { body: { record } },
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  const shown = await cli.run(['certificates', 'show', '*.apps.example.com', '--json']);
  assert.deepEqual(JSON.parse(shown.stdout), { record }, shown.stderr);
});

test('set finds the tunnel of a domain, sends both files and prints no key; update and rm need a choice', async (t) => {
  const path = '/api/tunnels/shop/domains/app.example.com/certificate';
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'GET /api/tunnels': { body: [tunnel] },
    [`POST ${path}`]: { body: own },
    [`PATCH ${path}`]: { body: own },
    [`GET ${path}`]: { body: { certificate: own } },
    [`DELETE ${path}`]: { status: 204 },
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  await writeFile(join(cli.home, 'chain.pem'), 'the chain');
  await writeFile(join(cli.home, 'key.pem'), 'the key');
  const run = (...argv: string[]) => cli.run(['certificates', ...argv], { cwd: cli.home });
  const set = await run('set', 'https://App.example.com/', '--chain', 'chain.pem', '--key', 'key.pem', '--no-fallback');
  assert.equal(set.code, 0, set.stderr);
  assert.match(set.stdout, /Corp CA[\s\S]*visitors are not served[\s\S]*Add the certificate of/);
  assert.ok(!set.stdout.includes('the key'));
  const sent = api.calls.find(({ method }) => method === 'POST');
  assert.deepEqual(sent!.body, { chain: 'the chain', privateKey: 'the key', fallback: false });
  assert.equal((await run('update', 'app.example.com')).code, 2);
  assert.equal((await run('update', 'app.example.com', '--fallback')).code, 0);
  assert.match((await run('show', 'app.example.com', '--json')).stdout, /"certificate": ?{[^}]*"issuer": ?"Corp CA"/);
  assert.match((await run('show', 'other.example.com')).stderr, /no tunnel of your project has the domain other\.example\.com/);
  assert.equal((await run('rm', 'app.example.com')).code, 2);
  assert.equal((await run('rm', 'app.example.com', '-y')).code, 0);
  assert.match((await run('set', 'app.example.com', '--chain', 'no.pem', '--key', 'key.pem')).stderr, /no\.pem cannot be read/);
});
