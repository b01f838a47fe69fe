import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseTcpInfo, tcpInfoBytes } from './tcp-info.ts';

/** Linux 6.18, a sender whose receiver had stopped reading. */
const recorded = Buffer.from(
  '010000000107aa00802c03000000000000ba0000180200000000000000000000000000000000000000000000280100000000000050010000300000' +
    '00ffff0000d7ff0000d9170000132e0000ffffff7f12000000cbff00000800000000000000d7ff00000200000043665dd704000000ffffffffffff' +
    'ffffe6fb02000000000000000000000000000b0000000500000086d238002d00000000000000080000005486320000000000c0c2040000000000c0' +
    'c2040000000000000000000000000009000000',
  'hex',
);

describe('TCP_INFO', () => {
  it('says what ss(8) says of the same connection', () => {
    // ss: mss:47616 rtt:6.105/11.795 cwnd:18 data_segs_out:8 retrans:0/2 minrtt:0.045 delivered:9
    assert.deepEqual(parseTcpInfo(recorded), {
      minRttMs: 0.045,
      rttMs: 6.105,
      windowSegments: 18,
      thresholdSegments: 2_147_483_647,
      sentSegments: 8,
      resentSegments: 2,
      deliveredBytes: 428_544,
    });
  });

  it('is nothing on a kernel that says less', () => {
    assert.equal(parseTcpInfo(recorded.subarray(0, tcpInfoBytes - 1)), null);
  });

  it('ignores what a newer kernel appends', () => {
    assert.deepEqual(parseTcpInfo(Buffer.concat([recorded, Buffer.alloc(120, 0xff)])), parseTcpInfo(recorded));
  });
});
