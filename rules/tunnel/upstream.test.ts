import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachCase, eachRefused } from '../test-kit.ts';
import {
  defaultUpstreams,
  formatUpstream,
  isLoopbackHost,
  parseHttpUpstream,
  parseIngressUpstream,
  parsePlainUpstream,
  parseTcpUpstream,
  parseUrlUpstream,
} from './upstream.ts';

const empty = 'Please provide an upstream';
const notHttp = 'Upstream must start with http://';
const badUrl = 'Upstream must be like http://127.0.0.1:8080';
const badPlace = 'Upstream must be like 127.0.0.1:8443';

test('the defaults are upstreams', () => {
  assert.equal(parsePlainUpstream(defaultUpstreams.http).ok, true);
  assert.equal(parseIngressUpstream(defaultUpstreams.ingress).ok, true);
});

test('this machine is known by name and address', () => {
  for (const host of ['localhost', 'a.localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]', '::ffff:127.0.0.1'])
    assert.equal(isLoopbackHost(host), true, host);
  for (const host of ['localhost.example', 'mylocalhost', '127.0.0.1.example', '128.0.0.1', '::2', ''])
    assert.equal(isLoopbackHost(host), false, host);
});

test('a URL upstream is scheme, host and port', (t) => {
  const rows: [string, string, string?][] = [
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['http://127.0.0.1:8080/', 'http://127.0.0.1:8080', 'a slash is no path'],
    [' http://localhost:3000 ', 'http://localhost:3000'],
    ['http://web', 'http://web:80'],
    ['https://web', 'https://web:443'],
    ['HTTP://Web:8080', 'http://web:8080'],
    ['http://my_app:8080', 'http://my_app:8080', 'container networks hand out underscores'],
    ['http://web.default.svc.cluster.local:8080', 'http://web.default.svc.cluster.local:8080'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['h2c://localhost:50051', 'h2c://localhost:50051', 'gRPC without TLS'],
    ['H2C://web', 'h2c://web:80'],
    ['https+h2://web', 'https+h2://web:443', 'gRPC with TLS'],
    ['http://[0:0::1]', 'http://[::1]:80'],
    ['http://127.0.0.1:1', 'http://127.0.0.1:1'],
    ['http://127.0.0.1:65535', 'http://127.0.0.1:65535'],
    ['http://127.0.0.1:3000/base', 'http://127.0.0.1:3000/base'],
    ['https://web/a.b/~c_d-e/', 'https://web:443/a.b/~c_d-e'],
    ['h2c://web/base', 'h2c://web:80/base'],
    ['unix:/run/app.sock', 'unix:/run/app.sock'],
  ];
  eachCase(t, rows, ([text, canonical]) => {
    const parsed = parseUrlUpstream(text);
    assert.equal(parsed.ok ? formatUpstream(parsed.value) : parsed.message, canonical);
  });
});

const brokenUrls: [string, string?][] = [
  ['http://'],
  ['http:///'],
  ['http://:8080'],
  ['http://127.0.0.1:0'],
  ['http://127.0.0.1:65536'],
  ['http://127.0.0.1:080', 'a leading zero'],
  ['http://127.0.0.1:'],
  ['http://127.0.0.1:80:80'],
  ['http://127.0.0.1:8080?x=1'],
  ['http://127.0.0.1:8080#x'],
  ['http://user@127.0.0.1:8080'],
  ['http://user:secret@127.0.0.1:8080'],
  ['http://evil.com\\@127.0.0.1'],
  ['http://1.2.3'],
  ['http://127.1'],
  ['http://::1:8080', 'IPv6 needs brackets'],
  ['http://[::1'],
  ['http://[127.0.0.1]:80', 'IPv4 has no brackets'],
  ['http://[web]:80'],
  ['http://[fe80::1%25eth0]'],
  ['http://_web'],
  ['http://web_'],
  ['http://we b'],
  ['http://web\nweb'],
  ['http://$(id)'],
  ['http://`id`'],
  ["http://a';id;'"],
  ['http://"a"'],
  ['http://wéb'],
  ['http://%31'],
  ['http://{host}'],
];

test('a broken URL upstream is refused', (t) => {
  eachRefused(t, parseUrlUpstream, badUrl, [
    ...brokenUrls,
    ['ftp://127.0.0.1'],
    ['h2://127.0.0.1', 'some take it for TLS, some for plain'],
    ['http+h2://127.0.0.1'],
    ['grpc://127.0.0.1'],
    ['127.0.0.1:8080'],
    ['//127.0.0.1'],
  ]);
});

test('the upstream of a domain starts with http:// (spec 5)', (t) => {
  eachRefused(t, parsePlainUpstream, empty, [[''], [' \n']]);
  eachRefused(t, parsePlainUpstream, notHttp, [
    ['https://127.0.0.1'],
    ['127.0.0.1:8080'],
    ['http:/127.0.0.1'],
    ['http:127.0.0.1'],
    ['ttp://127.0.0.1'],
    ['javascript:http://'],
    ['localhost'],
  ]);
  eachRefused(t, parsePlainUpstream, badUrl, brokenUrls);
});

test('the path of an upstream is plain', (t) => {
  const message = (path: string) =>
    `The path of an upstream has letters, digits and . _ ~ - between single slashes, unlike '${path}'`;
  const paths = ['/a//b', '/..', '/a/..', '/a/./b', '/a.', '/.a', '/a%2fb', '/a b', '/a;b', '/a:b', '//', `/${'a'.repeat(256)}`];
  for (const path of paths) assert.deepEqual(parseUrlUpstream(`http://web${path}`), { ok: false, message: message(path) }, path);
  eachRefused(t, parseUrlUpstream, badUrl, [['http://web/a?b'], ['http://web/a#b'], ['http://web/a\\b']]);
});

test('a Unix socket is named by its absolute path', (t) => {
  eachRefused(t, parseUrlUpstream, 'Upstream must be like unix:/run/app.sock', [
    ['unix:'],
    ['unix:run/app.sock'],
    ['unix://run/app.sock:/x', 'a path of a service has no place here yet'],
    ['unix:/run/a b'],
    ['unix:/run/$(id)'],
    [`unix:/${'a'.repeat(107)}`, 'sun_path has 108 bytes'],
  ]);
  const ingress = parseIngressUpstream('443=unix:/run/proxy.sock');
  assert.deepEqual(ingress.ok && ingress.value.map(({ port, upstream }) => [port, formatUpstream(upstream)]), [
    [443, 'unix:/run/proxy.sock'],
  ]);
});

test('an upstream may serve what is below a path', (t) => {
  const rows: [string, string | null, string | undefined, string][] = [
    ['app.example.com/api=http://web', 'app.example.com', '/api', 'http://web:80'],
    ['app.example.com/=http://web', 'app.example.com', undefined, 'http://web:80'],
    ['/api/v2/=unix:/run/api.sock', null, '/api/v2', 'unix:/run/api.sock'],
  ];
  eachCase(t, rows, ([text, domain, path, upstream]) => {
    const parsed = parseHttpUpstream(text);
    assert.ok(parsed.ok, text);
    assert.deepEqual([parsed.value.domain, parsed.value.path, formatUpstream(parsed.value.upstream)], [domain, path, upstream]);
  });
  for (const text of ['/a/../b=http://web', 'app.example.com/*=http://web', 'app.example.com//x=http://web'])
    assert.equal(parseHttpUpstream(text).ok, false, text);
});

test('a TCP upstream is host and port', (t) => {
  const rows: [string, number | undefined, string][] = [
    ['127.0.0.1:8443', undefined, '127.0.0.1:8443'],
    ['Web:443', undefined, 'web:443'],
    ['[::1]:443', undefined, '[::1]:443'],
    ['web', 443, 'web:443'],
    ['web', undefined, badPlace],
    ['[::1]', 80, '[::1]:80'],
    ['::1', 80, badPlace],
    ['', 80, empty],
    [':80', 80, badPlace],
    ['web:', 80, badPlace],
    ['web:http', 80, badPlace],
    ['http://web:80', 80, badPlace],
    ['web:99999', 80, badPlace],
    ['$(id):80', 80, badPlace],
  ];
  eachCase(t, rows, ([text, port, expected]) => {
    const parsed = parseTcpUpstream(text, port);
    assert.equal(parsed.ok ? formatUpstream(parsed.value) : parsed.message, expected);
  });
});

test('underpass http takes domain=url, or one url for all', (t) => {
  const rows: [string, string | null, string][] = [
    ['app.example.com=http://127.0.0.1:8080', 'app.example.com', 'http://127.0.0.1:8080'],
    ['App.Example.com.=https://web', 'app.example.com', 'https://web:443'],
    ['http://127.0.0.1:8080', null, 'http://127.0.0.1:8080'],
  ];
  eachCase(t, rows, ([text, domain, upstream]) => {
    const parsed = parseHttpUpstream(text);
    assert.ok(parsed.ok);
    assert.equal(parsed.value.domain, domain);
    assert.equal(formatUpstream(parsed.value.upstream), upstream);
  });
  eachCase(
    t,
    [
      ['app=http://web', 'Please enter a valid domain name.'],
      ['=http://web', 'Please enter a valid domain name.'],
      ['app.example.com=', empty],
      ['app.example.com=web:80', badUrl],
      ['app.example.com=a=http://web', badUrl],
      ['http://web?a=b', 'Please enter a valid domain name.'],
      ['', empty],
    ],
    ([text, message]) => assert.deepEqual(parseHttpUpstream(text!), { ok: false, message }),
  );
});

test('underpass ingress takes port=host:port, or one host for both ports', (t) => {
  const rows: [string, string[]][] = [
    ['127.0.0.1', ['80>127.0.0.1:80', '443>127.0.0.1:443']],
    [
      'ingress-nginx-controller.default.svc.cluster.local',
      [80, 443].map((port) => `${port}>ingress-nginx-controller.default.svc.cluster.local:${port}`),
    ],
    ['::1', ['80>[::1]:80', '443>[::1]:443']],
    ['[::1]', ['80>[::1]:80', '443>[::1]:443']],
    ['80=127.0.0.1:8080', ['80>127.0.0.1:8080']],
    ['443=web', ['443>web:443']],
    ['443=[::1]:8443', ['443>[::1]:8443']],
  ];
  eachCase(t, rows, ([text, expected]) => {
    const parsed = parseIngressUpstream(text);
    assert.ok(parsed.ok);
    assert.deepEqual(
      parsed.value.map(({ port, upstream }) => `${port}>${formatUpstream(upstream)}`),
      expected,
    );
  });
});

test('underpass ingress refuses what is neither', (t) => {
  eachCase(
    t,
    [
      ['', empty],
      ['80=', empty],
      ['22=127.0.0.1:22', 'Ingress port must be 80 or 443'],
      ['080=127.0.0.1:80', 'Ingress port must be 80 or 443'],
      ['=127.0.0.1', 'Ingress port must be 80 or 443'],
      ['127.0.0.1:8080', 'Upstream must be a host name or an address, or 80=HOST:PORT'],
      ['http://127.0.0.1', 'Upstream must be a host name or an address, or 80=HOST:PORT'],
      ['a b', 'Upstream must be a host name or an address, or 80=HOST:PORT'],
      ['80=a:b', badPlace],
    ],
    ([text, message]) => assert.deepEqual(parseIngressUpstream(text!), { ok: false, message }),
  );
});

const host = fc.oneof(
  fc.ipV4(),
  fc.ipV6().map((ip) => `[${ip}]`),
  fc.domain(),
  fc.stringMatching(/^[a-z0-9_.[\]:-]{1,12}$/),
);

test('a formatted upstream is parsed back to itself', () => {
  fc.assert(
    fc.property(host, fc.option(fc.nat(70_000), { nil: undefined }), (name, port) => {
      const parsed = parseUrlUpstream(`http://${name}${port === undefined ? '' : `:${port}`}`);
      if (parsed.ok) assert.deepEqual(parseUrlUpstream(formatUpstream(parsed.value)), parsed);
    }),
    { numRuns: 3000 },
  );
});

test("the URL parser's host and port are the same", () => {
  fc.assert(
    fc.property(host, fc.nat(70_000), (name, port) => {
      const text = `http://${name}:${port}`;
      const parsed = parseUrlUpstream(text);
      if (!parsed.ok) return;
      const url = new URL(text);
      // The URL parser writes an IPv4-mapped address in hexadecimal; here it is the IPv4 address.
      if (!url.hostname.startsWith('[::ffff:')) assert.equal(new URL(formatUpstream(parsed.value)).host, url.host);
      assert.equal(parsed.value.port, url.port === '' ? 80 : Number(url.port));
    }),
    { numRuns: 3000 },
  );
});
