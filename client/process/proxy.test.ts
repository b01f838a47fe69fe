import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accept, refuse } from '@underpass/rules/parsed.ts';
import { chooseProxy, chooseProxyOfUrl, formatProxy } from './proxy.ts';

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
      assert.deepEqual(chooseProxy({ HTTPS_PROXY: text }, 'edge.example', 443), accept(expected));
    });
  }

  it('in lower case wins, as in curl', () => {
    const env = { https_proxy: 'http://proxy.example:3128', HTTPS_PROXY: 'http://other.example' };
    assert.deepEqual(chooseProxy(env, 'edge.example', 443), accept(proxy));
  });

  it('is refused if malformed, and the error does not repeat its password', () => {
    const chosen = chooseProxy({ HTTPS_PROXY: 'socks5://user:hunter2@proxy' }, 'edge.example', 443);
    assert.deepEqual(chosen, refuse('it is not an http or https URL'));
  });

  for (const host of ['localhost', 'localhost.', 'local.localhost', '127.0.0.1', '127.8.0.1', '::1', '::ffff:127.0.0.1']) {
    it(`is never used for this machine, ${host}`, () => {
      assert.deepEqual(chooseProxy({ HTTPS_PROXY: 'http://proxy.example' }, host, 8443), accept(null));
    });
  }
});

describe('a call to a URL', () => {
  const env = { HTTPS_PROXY: 'http://proxy.example:3128', NO_PROXY: 'edge.example:8443,[2001:db8::1]' };
  for (const [url, expected] of [
    ['https://edge.example/api', proxy],
    ['https://edge.example:8443/api', null],
    ['https://[2001:db8::1]/', null],
    ['https://[2001:db8::2]/', proxy],
    ['https://[::1]/', null],
    ['https://127.1/', null],
    // The proxy could read a sign-in that is not encrypted.
    ['http://edge.example/api', null],
  ] as const) {
    it(`${url} ${expected === null ? 'takes no proxy' : 'takes the proxy'}`, () => {
      assert.deepEqual(chooseProxyOfUrl(env, new URL(url)), accept(expected));
    });
  }

  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']) {
    it(`takes no proxy from ${name}`, () => {
      for (const url of ['http://edge.example', 'https://edge.example'])
        assert.deepEqual(chooseProxyOfUrl({ [name]: 'http://proxy.example' }, new URL(url)), accept(null));
    });
  }

  for (const url of ['http://proxy.example:3128', 'https://u:p%3A%25@[2001:db8::1]:443', 'http://u:@proxy.example:80']) {
    it(`gives the runtime ${url} as it was set`, () => {
      const chosen = chooseProxy({ HTTPS_PROXY: url }, 'edge.example', 443);
      assert.equal(chosen.ok && chosen.value !== null && formatProxy(chosen.value), url);
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
      assert.equal(chosen.ok && chosen.value === null, exempt);
    });
  }
});
