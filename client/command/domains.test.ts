import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apexDomainMessage } from '@underpass/rules/names/apex-domain.ts';
import { accountRoutes, createCli, startFakeApi } from '../test-kit.ts';

const domain = { apexName: 'example.com', verified: false, challenge: 'c0ffee' };

test('add shows the TXT record of spec 7, verify fails until it is found, and then says so', async (t) => {
  let verified = false;
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'POST /api/domains': { status: 201, body: domain },
    'GET /api/domains': () => ({ body: [{ ...domain, verified }] }),
    'GET /api/domains/example.com': { body: domain },
    'GET /api/domains/example.com/dns': { body: { provider: 'route53' } },
    'POST /api/domains/example.com/verify': () => ({ body: { ...domain, verified } }),
    'DELETE /api/domains/example.com': { status: 204 },
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  const added = await cli.run(['domains', 'add', 'Example.com']);
  assert.match(added.stdout, /Type: +TXT\n +Name: +@\n +Value: +underpass-domain-verify=c0ffee/);
  assert.match(added.stdout, /at Amazon Route 53:[\s\S]*Leave the name empty: that stands for example\.com\./);
  const early = await cli.run(['domains', 'verify', 'example.com']);
  assert.equal(early.code, 7);
  assert.match(early.stderr, /code: domain-unverified/);
  verified = true;
  const late = await cli.run(['domains', 'verify', 'example.com']);
  assert.equal(late.code, 0);
  assert.match(late.stdout, /Verified/);
  assert.match((await cli.run(['domains', 'list'])).stdout, /example\.com +Verified/);
  assert.equal((await cli.run(['domains', 'rm', 'example.com'])).code, 2);
  assert.equal((await cli.run(['domains', 'rm', 'example.com', '-y'])).code, 0);
});

for (const [typed, canonical, why] of [
  ['Plain.DE', 'plain.de', 'upper case'],
  ['foo.net.', 'foo.net', 'a trailing dot'],
  ['bücher.de', 'xn--bcher-kva.de', 'letters beyond ASCII'],
] as const) {
  test(`add, verify and rm accept a name with ${why}`, async (t) => {
    const kept = { apexName: canonical, verified: true, challenge: 'c0ffee' };
    const api = await startFakeApi(t, {
      ...accountRoutes,
      'POST /api/domains': { status: 201, body: kept },
      [`GET /api/domains/${canonical}`]: { body: kept },
      [`POST /api/domains/${canonical}/verify`]: { body: kept },
      [`DELETE /api/domains/${canonical}`]: { status: 204 },
    });
    const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
    for (const argv of [['add'], ['verify'], ['rm', '-y']]) {
      const { code, stdout, stderr } = await cli.run(['domains', ...argv, typed]);
      assert.equal(code, 0, stderr);
      assert.ok(stdout.includes(canonical), stdout);
    }
  });
}

test('sends an invalid domain as typed, and shows the text of the server', async (t) => {
  const refused = { status: 400, body: apexDomainMessage };
  const api = await startFakeApi(t, { ...accountRoutes, 'POST /api/domains': refused });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  const { code, stderr } = await cli.run(['domains', 'add', 'Not A Domain']);
  assert.equal(code, 7);
  assert.ok(stderr.includes(apexDomainMessage), stderr);
  assert.deepEqual(api.calls.find(({ method }) => method === 'POST')?.body, { name: 'Not A Domain' });
});
