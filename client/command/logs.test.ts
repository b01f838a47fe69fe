import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { accountRoutes, createCli, startFakeApi } from '../test-kit.ts';
import { renderVisit } from './logs.ts';

const tunnel = { name: 'shop', type: 'http', visitorLog: 'truncated', ingressDomains: [] };
const entry = {
  id: 'b',
  at: '2026-11-27T10:00:00.000Z',
  missed: 0,
  address: '203.0.113.0/24',
  who: 'ann@example.com',
  method: 'GET',
  host: 'shop.example.com',
  path: '/cart',
  status: 200,
  bytes: 512,
  edgeMs: 0.1,
  tunnelMs: 12,
  upstreamMs: 40.2,
  totalMs: 55.4,
  code: '',
  rule: '',
  trace: '',
};
const missed = { ...entry, id: 'a', missed: 37, address: '', who: '', method: '', host: '', path: '', status: 0 };

async function signedIn(t: TestContext, about: object, entries: readonly object[]) {
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'GET /api/tunnels/shop': { body: about },
    'GET /api/tunnels/shop/visitor-log': { body: { entries, next: null, previous: null } },
  });
  return { api, cli: await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' }) };
}

test('logs prints the oldest visit first, and says how many are not shown', async (t) => {
  const { cli } = await signedIn(t, tunnel, [entry, missed]);
  const { stdout } = await cli.run(['logs', 'shop']);
  assert.equal(
    stdout,
    `2026-11-27T10:00:00.000Z 37 more visits not shown
2026-11-27T10:00:00.000Z 203.0.113.0/24 GET shop.example.com/cart 200 512 B 55 ms (edge 0.1, tunnel 12, upstream 40) as ann@example.com
`,
  );
});

test('logs --json prints the entries, and passes the filters on', async (t) => {
  const { api, cli } = await signedIn(t, tunnel, [entry]);
  const { stdout } = await cli.run(['logs', 'shop', '--json', '--status', 'refused', '--search', 'cart']);
  assert.deepEqual(JSON.parse(stdout), [entry]);
  const asked = api.calls.find(({ path }) => path.includes('visitor-log'));
  assert.match(asked?.path ?? '', /status=refused&q=cart/);
});

test('logs says how to switch the log on, if it is off', async (t) => {
  const { cli } = await signedIn(t, { ...tunnel, visitorLog: undefined }, []);
  const { stderr, code } = await cli.run(['logs', 'shop']);
  assert.equal(code, 2);
  assert.match(stderr, /the visitor log of shop is off\n {2}fix: Run "underpass tunnels update shop --visitor-log truncated"\./);
});

test('a visit is one line that no terminal obeys', () => {
  const line = renderVisit({ ...entry, path: '/\n2026 forged\x1b[2J', host: 'x\r\x9b31m' });
  assert.doesNotMatch(line, /[\p{Cc}]/u);
});

test('a connection of an ingress tunnel has neither method nor status', () => {
  const line = renderVisit({
    ...entry,
    method: '',
    path: '',
    status: 0,
    who: '',
    code: 'UNDERPASS_NO_CLIENT',
    edgeMs: null,
    tunnelMs: null,
    upstreamMs: null,
  });
  assert.equal(line, '2026-11-27T10:00:00.000Z 203.0.113.0/24 shop.example.com connection UNDERPASS_NO_CLIENT 512 B 55 ms');
});
