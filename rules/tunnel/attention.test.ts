import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import { alertOf, subjectOf } from './alert.ts';
import {
  type AttentionItem,
  attentionKinds,
  bound,
  type ConditionCounts,
  decideAttention,
  describeAttention,
  describeConditions,
  noFacts,
  type ProjectFacts,
  type TunnelFacts,
} from './attention.ts';
import { clientErrors } from './client-error.ts';
import { tunnelConditions } from './tunnel-condition.ts';

const now = Date.parse('2026-11-20T12:00:00Z');
const ago = (minutes: number) => new Date(now - minutes * 60_000).toISOString();
const inDays = (days: number) => new Date(now + days * 86_400_000).toISOString();

const none = noFacts;
const tunnel = (over: Partial<TunnelFacts>): TunnelFacts => ({
  name: 'shop',
  region: 'eu',
  condition: 'working',
  clients: 1,
  failing: 0,
  ...over,
});
const refusal = (minutes: number) => ({ code: 'token-refused', at: ago(minutes), address: '192.0.2.7' }) as const;
const kindsOf = (facts: Partial<ProjectFacts>) => decideAttention({ ...none, ...facts }, now).map(({ kind }) => kind);

test('a tunnel needs attention if visitors get an error, or a client is kept out', (t) => {
  const rows: [Partial<TunnelFacts>, AttentionItem['kind'] | undefined, string?][] = [
    [{}, undefined],
    [{ condition: 'unused', clients: 0 }, undefined, 'nobody has started a client yet'],
    [{ condition: 'stopped', clients: 0, since: ago(5) }, undefined, 'somebody wanted it so'],
    [{ condition: 'unknown', clients: 0 }, undefined],
    [{ condition: 'waiting', clients: 0 }, undefined, 'its domain is the item'],
    [{ condition: 'down', clients: 0, since: ago(5) }, 'tunnel-down'],
    [{ condition: 'down', clients: 0 }, 'tunnel-down', 'it is not known since when'],
    [{ condition: 'down', clients: 0, since: ago(31 * 24 * 60) }, undefined, 'given up'],
    [{ condition: 'down', clients: 0, since: ago(5), error: refusal(1) }, 'tunnel-down', 'one item, with the error'],
    [{ condition: 'failing', failing: 1 }, 'upstream-failing'],
    [{ condition: 'working', clients: 3, failing: 1 }, 'upstream-failing', 'some clients'],
    [{ condition: 'suspended', clients: 0, since: ago(5) }, 'tunnel-suspended'],
    [{ condition: 'suspended', error: refusal(1) }, 'tunnel-suspended', 'the refusal follows from it'],
    [{ portProblem: 'taken' }, 'port-closed', 'its clients work, and visitors find no port'],
    [{ condition: 'suspended', portProblem: 'taken' }, 'tunnel-suspended'],
    [{ error: refusal(10) }, 'client-refused'],
    [{ condition: 'unused', clients: 0, error: refusal(10) }, 'client-refused'],
    [{ error: refusal(61) }, undefined, 'it does not try any more'],
    [{ error: { ...refusal(1), code: 'upstream-down' } }, undefined, 'the upstream answers again'],
  ];
  eachCase(t, rows, ([over, kind]) => assert.deepEqual(kindsOf({ tunnels: [tunnel(over)] }), kind === undefined ? [] : [kind]));
});

test('one item stands for all of a suspended project', () => {
  const facts = {
    tunnels: [tunnel({ condition: 'suspended' }), tunnel({ failing: 1 })],
    tokens: [{ name: 'ci', until: inDays(1) }],
  };
  assert.deepEqual(kindsOf({ ...facts, isSuspended: true }), ['project-suspended']);
});

test('an unverified domain is one item, however many tunnels wait for it; a blocked host is its own', () => {
  const host = (name: string, over = {}) => ({
    tunnel: name,
    host: `${name}.example.com`,
    apexName: 'example.com',
    isBlocked: false,
    ...over,
  });
  const items = decideAttention({ ...none, hosts: [host('a'), host('b'), host('b'), host('c', { isBlocked: true })] }, now);
  assert.deepEqual(items, [
    { kind: 'domain-blocked', tunnel: 'c', domain: 'c.example.com' },
    { kind: 'domain-unverified', domain: 'example.com', tunnel: 'a', affected: 2 },
  ]);
});

test('a failed order is urgent only without a certificate', () => {
  const order = { tunnel: 'shop', host: 'shop.example.com' };
  assert.deepEqual(kindsOf({ failedOrders: [{ ...order, until: undefined }] }), ['certificate-missing']);
  const stray = { tunnel: order.tunnel, host: order.host, since: ago(40) };
  const both = { failedOrders: [{ ...order, until: undefined }], strayHosts: [stray] };
  assert.deepEqual(kindsOf(both), ['domain-elsewhere'], 'a name that leads elsewhere gets no certificate');
  assert.deepEqual(kindsOf({ failedOrders: [{ ...order, until: inDays(9) }] }), ['certificate-ending']);
});

test('a certificate of the project warns 30, 7 and 1 days before its end, and again only for the next', () => {
  const item = (days: number, fallback = false) => {
    const ownCertificates = [{ tunnel: 'shop', host: 'shop.example.com', until: inDays(days), fallback }];
    return decideAttention({ ...none, ownCertificates }, now)[0];
  };
  const rows: [days: number, warning: string][] = [
    [31, ''],
    [30, 'shop.example.com 30'],
    [8, 'shop.example.com 30'],
    [7, 'shop.example.com 7'],
    [1, 'shop.example.com 1'],
    [0.01, 'shop.example.com 1'],
  ];
  for (const [days, warning] of rows) {
    const found = item(days);
    assert.equal(found === undefined ? '' : subjectOf(alertOf(found)!), warning, `${days}`);
    if (found !== undefined) assert.ok(Date.parse(found.since!) <= now, 'it is told at once');
  }
  assert.equal(item(0)?.kind, 'own-certificate-ended');
  assert.match(describeAttention(item(0, true)!).text, /not served.*if the domain leads here/);
});

test('an API token counts in the last seven days of its life', () => {
  const kinds = (until: string) => kindsOf({ tokens: [{ name: 'ci', until }] });
  assert.deepEqual([kinds(inDays(7)), kinds(inDays(7.1)), kinds(inDays(-0.1))], [['token-ending'], [], []]);
});

test('the most urgent comes first; of a kind, what began last or ends first', () => {
  const down = (name: string, minutes: number) => tunnel({ name, condition: 'down', clients: 0, since: ago(minutes) });
  const items = decideAttention(
    {
      ...none,
      tunnels: [
        tunnel({ name: 'odd', error: refusal(1) }),
        down('old', 90),
        down('new', 2),
        tunnel({ name: 'half', failing: 1 }),
      ],
      tokens: [
        { name: 'late', until: inDays(6) },
        { name: 'soon', until: inDays(1) },
      ],
    },
    now,
  );
  assert.deepEqual(
    items.map((item) => item.tunnel ?? item.tokenName),
    ['new', 'old', 'half', 'odd', 'soon', 'late'],
  );
  assert.deepEqual(bound(items, 4), { shown: items.slice(0, 4), more: 2 });
  assert.deepEqual(bound(items, 8), { shown: items, more: 0 });
});

test('each kind has a title for each error, and no gap in it', () => {
  for (const kind of Object.keys(attentionKinds) as AttentionItem['kind'][])
    for (const code of [undefined, ...(Object.keys(clientErrors) as (keyof typeof clientErrors)[])]) {
      const error = code === undefined ? {} : { error: { ...refusal(1), code } };
      const { title, text } = describeAttention({
        kind,
        tunnel: 'shop',
        domain: 'a.com',
        tokenName: 'ci',
        region: 'eu',
        quota: 'members',
        ...error,
      });
      assert.match(`${title}. ${text}`, /^[^.]*(shop|a\.com|ci|eu|members|This project)/, kind);
      assert.doesNotMatch(`${title} ${text}`, / {2}|undefined/, kind);
    }
});

test('how the tunnels stand is one sentence', (t) => {
  const zero = Object.fromEntries(Object.keys(tunnelConditions).map((name) => [name, 0])) as ConditionCounts;
  const rows: [Partial<ConditionCounts>, string][] = [
    [{}, 'There is no tunnel yet.'],
    [{ working: 1 }, 'The tunnel is connected.'],
    [{ working: 4 }, 'All 4 tunnels are connected.'],
    [{ working: 1, down: 1 }, '1 of 2 tunnels is connected, 1 down.'],
    [{ unused: 1 }, 'No tunnel is connected, 1 not used yet.'],
    [{ failing: 1 }, 'The tunnel is connected, but failing.'],
    [{ failing: 2, down: 1 }, '2 of 3 tunnels are connected, but failing, 1 down.'],
    [{ working: 2, failing: 1 }, 'All 3 tunnels are connected, 1 of them failing.'],
    [{ working: 1, failing: 1, stopped: 1 }, '2 of 3 tunnels are connected, 1 of them failing, 1 stopped.'],
    [{ working: 1200, down: 34 }, '1,200 of 1,234 tunnels are connected, 34 down.'],
    [{ working: 3, stopped: 2, unused: 1 }, '3 of 6 tunnels are connected, 2 stopped, 1 not used yet.'],
  ];
  eachCase(t, rows, ([counts, sentence]) => assert.equal(describeConditions({ ...zero, ...counts }), sentence));
});
