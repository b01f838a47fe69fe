import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseTcpInfo, tcpInfoBytes } from './tcp-info.ts';

/** Linux 6.18, a sender whose receiver had stopped reading. */
const recorded = Buffer.from(
  '010000000107aa00802c03000000000000ba0000180200000000000000000000000000000000000000000000ec01000000000000fc010000f8000000' +
    'ffff0000d7ff0000041500004d290000ffffff7f0a000000cbff00000300000000000000d7ff0000010000006f998c0a00000000ffffffffffffffff' +
    'e6fb02000000000000000000000000000a0000000500000086d23800180000000000000007000000',
  'hex',
);

describe('TCP_INFO', () => {
  it('says what ss(8) says of the same connection', () => {
    // ss: mss:47616 rtt:5.38/10.573 cwnd:10 data_segs_out:7 retrans:0/1 notsent:3723910 minrtt:0.024
    assert.deepEqual(parseTcpInfo(recorded), {
      minRttMs: 0.024,
      rttMs: 5.38,
      windowBytes: 476_160,
      unackedBytes: 0,
      notSentBytes: 3_723_910,
      sentSegments: 7,
      resentSegments: 1,
    });
  });

  it('is nothing on a kernel that says less', () => {
    assert.equal(parseTcpInfo(recorded.subarray(0, tcpInfoBytes - 1)), null);
  });

  it('ignores what a newer kernel appends', () => {
    assert.deepEqual(parseTcpInfo(Buffer.concat([recorded, Buffer.alloc(120, 0xff)])), parseTcpInfo(recorded));
  });
});
