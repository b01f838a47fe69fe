import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseUpstreamHosts, parseUpstreams, upstreamLines } from './tunnel-config.ts';

for (const [text, line] of [
  ['https://10.0.0.7', 'all domains → https://10.0.0.7:443'],
  ['3000', 'all domains → http://127.0.0.1:3000'],
  [':3000', 'all domains → http://127.0.0.1:3000'],
  ['localhost:3000', 'all domains → http://localhost:3000'],
  ['[::1]:3000', 'all domains → http://[::1]:3000'],
  ['shop.example.com=3000', 'shop.example.com → http://127.0.0.1:3000'],
  ['shop.example.com=10.0.0.7:80', 'shop.example.com → http://10.0.0.7:80'],
  ['shop.example.com/api=3000', 'shop.example.com/api → http://127.0.0.1:3000'],
  ['/api=localhost:3000', 'all domains/api → http://localhost:3000'],
  ['http://127.0.0.1:3000/path', 'all domains → http://127.0.0.1:3000/path'],
  ['unix:/run/shop.sock', 'all domains → unix:/run/shop.sock'],
] as const) {
  test(`accepts ${text} as an upstream of an http tunnel`, () => {
    const parsed = parseUpstreams('http', [text]);
    assert.ok(parsed.ok);
    assert.deepEqual(upstreamLines(parsed.value), [line]);
  });
}

for (const text of ['', '65536', '80=3000', 'http://127.0.0.1:3000/a//b', 'unix:shop.sock']) {
  test(`refuses the upstream '${text}' and quotes it`, () => {
    const parsed = parseUpstreams('http', [text]);
    assert.ok(!parsed.ok);
    assert.match(parsed.message, new RegExp(`\\(given: '${text}'\\)$`));
  });
}

for (const [type, text, other] of [
  ['http', '80=127.0.0.1:8080', 'ingress'],
  ['http', '10.0.0.5', 'ingress'],
  ['http', 'localhost', 'ingress'],
  ['ingress', 'http://127.0.0.1:8080', 'http'],
  ['ingress', 'shop.example.com=http://127.0.0.1:8080', 'http'],
  ['ingress', '3000', 'http'],
] as const) {
  test(`says that ${text} is for an ${other} tunnel`, () => {
    const parsed = parseUpstreams(type, [text]);
    assert.ok(!parsed.ok);
    assert.match(parsed.message, new RegExp(`^'${text}' is an upstream of an ${other} tunnel; an ${type} tunnel takes [A-Z]+`));
  });
}

const two = ['shop.example.com=3000', 'http://app:80'];
for (const [hosts, lines] of [
  [['upstream'], ['shop.example.com → http://127.0.0.1:3000 (Host: localhost:3000)', 'all domains → http://app:80 (Host: app)']],
  [
    ['Shop.Example.com=upstream'],
    ['shop.example.com → http://127.0.0.1:3000 (Host: localhost:3000)', 'all domains → http://app:80'],
  ],
  [
    ['intern.example', 'shop.example.com=same'],
    ['shop.example.com → http://127.0.0.1:3000', 'all domains → http://app:80 (Host: intern.example)'],
  ],
  [['same'], ['shop.example.com → http://127.0.0.1:3000', 'all domains → http://app:80']],
] as const) {
  test(`sends the Host that --upstream-host ${hosts.join(' and ')} gives`, () => {
    const parsed = parseUpstreams('http', two);
    assert.ok(parsed.ok);
    const sent = parseUpstreamHosts(parsed.value, hosts);
    assert.ok(sent.ok, JSON.stringify(sent));
    assert.deepEqual(upstreamLines(sent.value), lines);
  });
}

test('leaves no trace of --upstream-host same', () => {
  const parsed = parseUpstreams('http', two);
  assert.ok(parsed.ok);
  assert.deepEqual(parseUpstreamHosts(parsed.value, ['same']), parsed);
});

for (const [hosts, message] of [
  [['upstream', 'same'], /^Two upstream hosts for all domains$/],
  [['shop.example.com=same', 'SHOP.example.com=same'], /^Two upstream hosts for shop\.example\.com$/],
  [['api.example.com=upstream'], /^'api\.example\.com' has no --upstream of its own$/],
  [['http://app'], /^Upstream host must be/],
  [['app/x'], /^Upstream host must be/],
  [['a\r\nX: y'], /^Upstream host must be/],
  [['user@app'], /^Upstream host must be/],
  [['app:99999'], /^Upstream host must be/],
  [[''], /^Upstream host must be/],
] as const) {
  test(`refuses --upstream-host ${JSON.stringify(hosts)}`, () => {
    const parsed = parseUpstreams('http', two);
    assert.ok(parsed.ok);
    const sent = parseUpstreamHosts(parsed.value, hosts);
    assert.ok(!sent.ok);
    assert.match(sent.message, message);
  });
}

test('refuses --upstream-host for an ingress tunnel, whose TLS passes through', () => {
  const parsed = parseUpstreams('ingress', ['10.0.0.5']);
  assert.ok(parsed.ok);
  const sent = parseUpstreamHosts(parsed.value, ['upstream']);
  assert.deepEqual(sent, {
    ok: false,
    message: 'An ingress tunnel passes TLS through, so --upstream-host is only for http tunnels',
  });
});

test('paths tell the upstreams of a domain apart', () => {
  const parsed = parseUpstreams('http', [
    'a.example.com=3000',
    'a.example.com/api=4000',
    'a.example.com/api/v2=4002',
    '5000',
    '/api=5001',
  ]);
  assert.equal(parsed.ok && parsed.value.list.length, 5);
  const twice = parseUpstreams('http', ['a.example.com/api=4000', 'a.example.com/api/=4001']);
  assert.deepEqual(twice, { ok: false, message: 'Two upstreams for a.example.com/api' });
});
