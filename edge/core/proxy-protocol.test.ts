import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeProxyHeader, peekProxyHeader } from './proxy-protocol.ts';

const v4 = { sourceAddress: '203.0.113.9', sourcePort: 51000, destinationAddress: '198.51.100.1', destinationPort: 443 };
const v6 = { ...v4, sourceAddress: '2001:db8::9', destinationAddress: '2001:db8::1' };
const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');
const bytesOf = (text: string) => Buffer.from(text, 'latin1');

describe('a header that the edge writes', () => {
  it('is v1 for both families, for one family if the addresses differ, and UNKNOWN without an address', () => {
    assert.equal(latin1(encodeProxyHeader('v1', v4)), 'PROXY TCP4 203.0.113.9 198.51.100.1 51000 443\r\n');
    assert.equal(latin1(encodeProxyHeader('v1', v6)), 'PROXY TCP6 2001:db8::9 2001:db8::1 51000 443\r\n');
    const mixed = latin1(encodeProxyHeader('v1', { ...v4, destinationAddress: '2001:db8::1' }));
    assert.equal(mixed, 'PROXY TCP6 ::ffff:cb00:7109 2001:db8::1 51000 443\r\n', 'IPv6 text for a mapped address');
    assert.equal(latin1(encodeProxyHeader('v1', { ...v4, sourceAddress: '' })), 'PROXY UNKNOWN\r\n');
  });

  it('is v2 byte by byte as the specification defines it', () => {
    assert.equal(
      Buffer.from(encodeProxyHeader('v2', v4)).toString('hex'),
      '0d0a0d0a000d0a515549540a' + '21' + '11' + '000c' + 'cb007109' + 'c6336401' + 'c738' + '01bb',
    );
    assert.equal(encodeProxyHeader('v2', v6).length, 16 + 36);
  });

  it('is empty if the tunnel wants none', () => {
    assert.equal(encodeProxyHeader('', v4).length, 0);
  });
});

describe('a header that the edge reads', () => {
  for (const version of ['v1', 'v2'] as const) {
    for (const ends of [v4, v6]) {
      it(`${version} from ${ends.sourceAddress}, however it is cut`, () => {
        const header = Buffer.concat([encodeProxyHeader(version, ends), bytesOf('GET /')]);
        const length = header.length - 5;
        for (let to = 0; to < length; to++) assert.equal(peekProxyHeader(header.subarray(0, to)).kind, 'more', `${to}`);
        assert.deepEqual(peekProxyHeader(header), {
          kind: 'header',
          bytes: length,
          ends,
        });
      });
    }
  }

  it('gives no visitor if the balancer connects for itself (LOCAL)', () => {
    assert.deepEqual(peekProxyHeader(bytesOf('PROXY UNKNOWN\r\n')), { kind: 'header', bytes: 15, ends: null });
    const local = Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex');
    assert.deepEqual(peekProxyHeader(local), { kind: 'header', bytes: 16, ends: null });
    const localWithAddresses = Buffer.from(encodeProxyHeader('v2', v4));
    localWithAddresses[12] = 0x20;
    assert.deepEqual(peekProxyHeader(localWithAddresses), { kind: 'header', bytes: 28, ends: null });
  });

  it('may have TLVs after the addresses', () => {
    const header = Buffer.from(encodeProxyHeader('v2', v4));
    const longer = Buffer.concat([header, Buffer.from('030004deadbeef', 'hex')]);
    longer.writeUInt16BE(12 + 7, 14);
    assert.equal((peekProxyHeader(longer) as { bytes: number }).bytes, longer.length);
  });

  const malformed = [
    ['no header', 'GET / HTTP/1.1\r\n'],
    ['TLS', '\x16\x03\x01'],
    ['lower case', 'proxy TCP4 1.1.1.1 1.1.1.1 1 1\r\n'],
    ['bare LF', 'PROXY TCP4 1.1.1.1 1.1.1.1 1 1\n'],
    ['family and address differ', 'PROXY TCP4 ::1 ::1 1 1\r\n'],
    ['octet out of range', 'PROXY TCP4 1.1.1.256 1.1.1.1 1 1\r\n'],
    ['leading zero', 'PROXY TCP4 1.1.1.01 1.1.1.1 1 1\r\n'],
    ['port out of range', 'PROXY TCP4 1.1.1.1 1.1.1.1 65536 1\r\n'],
    ['the other port out of range', 'PROXY TCP4 1.1.1.1 1.1.1.1 1 65536\r\n'],
    ['signed port', 'PROXY TCP4 1.1.1.1 1.1.1.1 +1 1\r\n'],
    ['too long a line', `PROXY UNKNOWN ${'a'.repeat(107)}`],
    ['v2 of version 1', '\r\n\r\n\0\r\nQUIT\n\x11\x11\0\x0c'],
    ['v2 too large', '\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff'],
    ['v2 shorter than its addresses', '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x01a'],
    ['v2 unknown command', `\r\n\r\n\0\r\nQUIT\n\x2f\x11\0\x0c${'a'.repeat(12)}`],
  ] as const;
  for (const [why, text] of malformed) {
    it(`is refused: ${why}`, () => assert.equal(peekProxyHeader(bytesOf(text)).kind, 'malformed'));
  }
});
