import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CarryError } from './problem.ts';
import { chooseProxy } from './proxy.ts';

const proxy = { tls: false, host: 'proxy.example', port: 3128, authorization: null };

describe('HTTPS_PROXY', () => {
  for (const [text, expected] of [
    ['http://proxy.example:3128', proxy],
    ['proxy.example:3128', proxy],
    ['http://proxy.example', { ...proxy, port: 80 }],
    ['https://proxy.example', { ...proxy, tls: true, port: 443 }],
    ['http://[2001:db8::1]:3128', { ...proxy, host: '2001:db8::1' }],
    ['http://u:p%3A@proxy.example:3128', { ...proxy, authorization: `Basic ${btoa('u:p:')}` }],
    // As in curl: a `%` that escapes nothing stays as it is.
    ['http://u:100%@proxy.example:3128', { ...proxy, authorization: `Basic ${btoa('u:100%')}` }],
    ['  ', null],
  ] as const) {
    it(`accepts '${text}'`, () => {
      assert.deepEqual(chooseProxy({ HTTPS_PROXY: text }, 'edge.example', 443), expected);
    });
  }

  it('in lower case wins, as in curl', () => {
    const env = { https_proxy: 'http://proxy.example:3128', HTTPS_PROXY: 'http://other.example' };
    assert.deepEqual(chooseProxy(env, 'edge.example', 443), proxy);
  });

  it('is refused if malformed, and the error does not repeat its password', () => {
    assert.throws(
      () => chooseProxy({ HTTPS_PROXY: 'socks5://user:hunter2@proxy' }, 'edge.example', 443),
      (error) => error instanceof CarryError && error.problem.code === 'proxy-invalid' && !error.message.includes('hunter2'),
    );
  });

  for (const host of ['localhost', 'local.localhost', '127.0.0.1', '127.8.0.1', '::1', '::ffff:127.0.0.1']) {
    it(`is never used for this machine, ${host}`, () => {
      assert.equal(chooseProxy({ HTTPS_PROXY: 'http://proxy.example' }, host, 8443), null);
    });
  }
});

describe('NO_PROXY', () => {
  for (const [list, host, exempt] of [
    ['*', 'edge.example', true],
    ['edge.example', 'edge.example', true],
    ['example', 'edge.example', true],
    ['.example', 'edge.example', true],
    // As in curl; Go sends the name itself through the proxy.
    ['.edge.example', 'edge.example', true],
    ['*.example', 'edge.example', true],
    ['EDGE.example', 'edge.example', true],
    ['dge.example', 'edge.example', false],
    ['a, edge.example ,b', 'edge.example', true],
    ['edge.example:8443', 'edge.example', true],
    ['edge.example:443', 'edge.example', false],
    ['192.0.2.1', '192.0.2.1', true],
    ['2001:db8::1', '2001:db8::1', true],
    ['2001:0DB8:0::1', '2001:db8::1', true],
    ['[2001:db8::1]', '2001:db8::1', true],
    ['[2001:db8::1]:8443', '2001:db8::1', true],
    ['[2001:db8::1]:443', '2001:db8::1', false],
    ['192.0.2.1:8443', '192.0.2.1', true],
    ['192.0.2.1:443', '192.0.2.1', false],
    ['192.0.2.0/24', '192.0.2.200', true],
    ['192.0.2.200/24', '192.0.2.1', true],
    ['192.0.2.0/24', '192.0.3.1', false],
    ['10.0.0.0/8, fd00::/8', 'fd12:3456::1', true],
    ['fd00::/8', 'fe80::1', false],
    ['0.0.0.0/0', '2001:db8::1', false],
    // A range matches addresses in the URL, not names that resolve to one; a name never matches part of an address.
    ['0.0.0.0/0', 'edge.example', false],
    ['2.1', '192.0.2.1', false],
    ['192.0.2.0/33', '192.0.2.1', false],
    ['bücher.example', 'edge.xn--bcher-kva.example', true],
    ['*.edge.example:8443', 'a.edge.example', true],
    ['edge.*', 'edge.example', false],
    ['.', 'edge.example', false],
    [',', 'edge.example', false],
  ] as const) {
    it(`'${list}' ${exempt ? 'exempts' : 'does not exempt'} ${host}:8443`, () => {
      const chosen = chooseProxy({ HTTPS_PROXY: 'http://proxy.example:3128', NO_PROXY: list }, host, 8443);
      assert.equal(chosen === null, exempt);
    });
  }
});
