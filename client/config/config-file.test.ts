import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { TunnelUpstreams } from '../carry/api.ts';
import { parseConfig } from './config-file.ts';
import { upstreamLines } from './tunnel-config.ts';

const whole = `
health: 127.0.0.1:9000
tunnels:
  - name: shop
    type: http
    url: https://eu1.example.com
    token-file: shop.token
    upstream:
      - shop.example.com=http://127.0.0.1:8080
      - https://10.0.0.7
    upstream-ca: /etc/ca.pem
  - name: cluster
    type: ingress
    url: https://eu1.example.com:8443#ca=${'ab'.repeat(32)}
    token-env: CLUSTER_TOKEN
    upstream: 10.0.0.5
    upstream-insecure: true
`;

test('a file becomes tunnels, with paths relative to its folder', () => {
  const result = parseConfig(whole, '/etc/underpass', '/home/ada');
  assert.ok(result.ok);
  const [shop, cluster] = result.config.tunnels;
  assert.equal(result.config.health, '127.0.0.1:9000');
  assert.deepEqual(shop?.token, { kind: 'file', path: '/etc/underpass/shop.token' });
  assert.equal(shop?.upstreamCaFile, '/etc/ca.pem');
  assert.equal(shop?.upstreams.list.length, 2);
  assert.deepEqual(cluster?.token, { kind: 'env', name: 'CLUSTER_TOKEN' });
  assert.equal(cluster?.upstreams.list.length, 2);
  assert.equal(cluster?.upstreamInsecure, true);
});

test('~/ at the start of a path is the home folder; ~ elsewhere is an ordinary character', () => {
  const text = tunnel('    token-file: ~/a.token\n    ca: "~ca.pem"\n    upstream-ca: certs/~/ca.pem\n    upstream: http://a');
  const result = parseConfig(text, '/etc/underpass', '/home/ada');
  assert.ok(result.ok);
  const [{ token, caFile, upstreamCaFile } = {}] = result.config.tunnels;
  assert.deepEqual(token, { kind: 'file', path: '/home/ada/a.token' });
  assert.deepEqual([caFile, upstreamCaFile], ['/etc/underpass/~ca.pem', '/etc/underpass/certs/~/ca.pem']);
});

test('a tunnel without URL and token is one of the account, by its name', () => {
  const text = 'tunnels:\n  - {name: shop, type: http, upstream: 3000}\n';
  const result = parseConfig(text, '/', '/root');
  assert.ok(result.ok, JSON.stringify(result));
  assert.deepEqual(
    result.config.tunnels.map(({ name, url, token }) => ({ name, url, token })),
    [{ name: 'shop', url: undefined, token: undefined }],
  );
});

for (const written of ['3000', '[3000]', '\n      - 3000']) {
  test(`accepts a port without quotes as an upstream: ${JSON.stringify(written)}`, () => {
    const result = parseConfig(tunnel(`    token-env: A\n    upstream: ${written}`), '/', '/root');
    assert.ok(result.ok, JSON.stringify(result));
    assert.deepEqual(upstreamLines(result.config.tunnels[0]!.upstreams), ['all domains → http://127.0.0.1:3000']);
  });
}

test('a tcp tunnel is private if the file says so, with the key of its own that it names', () => {
  const tcp = 'tunnels:\n  - {name: a, type: tcp, upstream: 5432';
  const privacy = (more: string) => {
    const result = parseConfig(`${tcp}${more}}\n`, '/etc/underpass', '/home/ada');
    assert.ok(result.ok, JSON.stringify(result));
    return result.config.tunnels[0]!.private;
  };
  assert.equal(privacy(''), undefined);
  assert.equal(privacy(', private: false'), undefined);
  assert.deepEqual(privacy(', private: true'), { ticketsOnly: false });
  assert.deepEqual(privacy(', private: true, tickets-only: true, key-file: db.pem'), {
    ticketsOnly: true,
    keyFile: '/etc/underpass/db.pem',
  });
});

const tunnel = (lines: string) => `tunnels:\n  - name: a\n    type: http\n    url: https://e.example.com\n${lines}`;
const wrong = [
  { name: 'an empty file', text: '', line: 1, message: /must hold keys/ },
  { name: 'a list instead of keys', text: '- a', line: 1, message: /must hold keys/ },
  { name: 'no tunnels', text: 'health: 127.0.0.1:1', line: 1, message: /at least one tunnel/ },
  { name: 'an empty list', text: 'tunnels: []', line: 1, message: /at least one tunnel/ },
  {
    name: 'an unknown key at the top',
    text: `tunnel: 1\n${tunnel('    token-env: T\n    upstream: http://a')}`,
    line: 1,
    message: /unknown key 'tunnel'/,
  },
  {
    name: 'an unknown key in a tunnel',
    text: tunnel('    token-env: T\n    upstreams: http://a\n    upstream: http://a'),
    line: 6,
    message: /unknown key 'upstreams'/,
  },
  {
    name: 'a key given twice',
    text: tunnel('    token-env: T\n    token-env: U\n    upstream: http://a'),
    line: 6,
    message: /unique/,
  },
  { name: 'no token', text: tunnel('    upstream: http://a'), line: 2, message: /either 'token-file' or 'token-env'/ },
  {
    name: 'a private tunnel of another type',
    text: tunnel('    token-env: T\n    upstream: http://a\n    private: true'),
    line: 7,
    message: /only a tcp tunnel can be 'private'/,
  },
  {
    name: 'only tickets for a tunnel that is not private',
    text: tunnel('    token-env: T\n    upstream: http://a\n    tickets-only: true'),
    line: 7,
    message: /'tickets-only' needs 'private: true'/,
  },
  {
    name: 'a key for a tunnel that is not private',
    text: tunnel('    token-env: T\n    upstream: http://a\n    private: false\n    key-file: k.pem'),
    line: 8,
    message: /'key-file' needs 'private: true'/,
  },
  { name: 'two tokens', text: tunnel('    token-env: T\n    token-file: t\n    upstream: http://a'), line: 2, message: /either/ },
  {
    name: 'a token in the file itself',
    text: tunnel('    token: abc\n    token-env: T\n    upstream: http://a'),
    line: 5,
    message: /unknown key 'token'/,
  },
  {
    name: 'a wrong upstream',
    text: tunnel('    token-env: T\n    upstream: ftp://a'),
    line: 6,
    message: /Upstream must be like/,
  },
  {
    name: 'two upstreams for one domain',
    text: tunnel('    token-env: T\n    upstream: [http://a, http://b]'),
    line: 6,
    message: /Two upstreams for all domains/,
  },
  {
    name: 'a host for a domain without an upstream',
    text: tunnel('    token-env: T\n    upstream: http://a\n    upstream-host: b.example.com=upstream'),
    line: 7,
    message: /'b\.example\.com' has no --upstream/,
  },
  { name: 'a number for a text', text: tunnel('    token-env: 5\n    upstream: http://a'), line: 5, message: /must be a text/ },
  { name: 'an alias for a text', text: `tunnels:\n  - &x {name: a}\n  - *x\n`, line: 2, message: /'type' is missing/ },
  {
    name: 'a plain http url',
    text: 'tunnels:\n  - name: a\n    type: http\n    url: http://e.example.com\n    token-env: T\n    upstream: http://a',
    line: 4,
    message: /not the URL of a tunnel/,
  },
  {
    name: 'an unknown type',
    text: 'tunnels:\n  - name: a\n    type: udp\n    url: https://e.example.com\n    token-env: T\n    upstream: http://a',
    line: 3,
    message: /, not 'udp'/,
  },
  {
    name: 'a switch that is a text',
    text: tunnel('    token-env: T\n    upstream: http://a\n    upstream-insecure: "yes"'),
    line: 7,
    message: /true or false/,
  },
  {
    name: 'a malformed health address',
    text: `health: "8471"\n${tunnel('    token-env: T\n    upstream: http://a')}`,
    line: 1,
    message: /'8471' is not an address, e\.g\. 127\.0\.0\.1:8471/,
  },
  { name: 'not YAML', text: 'tunnels: [', line: 1, message: /./ },
  { name: 'two documents', text: 'tunnels: []\n---\ntunnels: []', line: 2, message: /multiple documents/i },
];
for (const { name, text, line, message } of wrong) {
  test(`refuses ${name} and names its line`, () => {
    const result = parseConfig(text, '/', '/root');
    assert.ok(!result.ok);
    assert.equal(result.problems[0]?.line, line, JSON.stringify(result.problems));
    assert.match(result.problems[0]?.message ?? '', message);
  });
}

test('names every wrong line in one run', () => {
  const result = parseConfig('helth: 1\ntunnels:\n  - name: a\n  - name: a\n', '/', '/root');
  assert.ok(!result.ok);
  assert.deepEqual([...new Set(result.problems.map(({ line }) => line))], [1, 3, 4]);
});

test('never throws, and a file that it accepts has a tunnel', () => {
  const pieces = fc.constantFrom(
    'tunnels:',
    '\n',
    '  - ',
    'name: a',
    'type: http',
    '    ',
    '&a',
    '*a',
    '<<: *a',
    '[',
    '}',
    '? ',
    '!!binary x',
    'url: https://e.example.com',
    '"',
    ': ',
    '---',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces).map((parts) => parts.join('')),
      ),
      (text) => {
        const result = parseConfig(text, '/', '/root');
        assert.ok(result.ok ? result.config.tunnels.length > 0 : result.problems.length > 0);
      },
    ),
    { numRuns: 2000 },
  );
});

test('reads the Host for an upstream', () => {
  const text = tunnel(
    '    token-env: T\n    upstream: [http://a, b.example.com=3000]\n    upstream-host: [b.example.com=upstream, intern]',
  );
  const parsed = parseConfig(text, '/folder', '/home/me');
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const { list } = parsed.config.tunnels[0]!.upstreams as Extract<TunnelUpstreams, { type: 'http' }>;
  assert.deepEqual(
    list.map(({ sentHost }) => sentHost),
    ['intern', 'localhost:3000'],
  );
});
