// Which address counts: the peer's, unless the peer is a trusted proxy.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAddressReader } from './address.ts';

describe('the address of a caller', () => {
  for (const [trusted, remote, forwarded, expected, why] of [
    [[], '192.0.2.1', '203.0.113.5', '192.0.2.1', 'no proxy is trusted'],
    [['10.0.0.0/8'], '192.0.2.1', '203.0.113.5', '192.0.2.1', 'the peer is not trusted'],
    [['10.0.0.0/8'], '10.1.1.1', '203.0.113.5', '203.0.113.5', 'a trusted proxy reports it'],
    [['10.0.0.0/8'], '10.1.1.1', '198.51.100.9, 203.0.113.5', '203.0.113.5', 'the caller forged the entry before it'],
    [['10.0.0.0/8'], '10.1.1.1', '203.0.113.5, 10.2.2.2', '203.0.113.5', 'two trusted proxies follow each other'],
    [['10.0.0.0/8'], '10.1.1.1', '', '10.1.1.1', 'the proxy says nothing'],
    [['10.0.0.0/8'], '10.1.1.1', '203.0.113.5, unknown', '10.1.1.1', 'the proxy says nonsense'],
    [['10.0.0.0/8'], '10.1.1.1', '10.9.9.9', '10.9.9.9', 'every entry is a trusted proxy'],
    [['10.0.0.0/8'], '::ffff:10.1.1.1', '2001:DB8::1', '2001:db8::1', 'the socket is dual-stack'],
    [['2001:db8:1::/48'], '2001:db8:1::5', '203.0.113.5', '203.0.113.5', 'the trusted proxy has IPv6'],
  ] as const) {
    it(`is ${expected} if ${why}`, () => {
      const headers = new Headers(forwarded === '' ? {} : { 'x-forwarded-for': forwarded });
      assert.equal(createAddressReader(trusted)(remote, headers), expected);
    });
  }
});
