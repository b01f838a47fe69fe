import assert from 'node:assert/strict';
import { it } from 'node:test';
import { blockingNames, blockReasonMaxChars, heldOwnName, parseBlock, parseBlockReason } from './block.ts';

const accepted: readonly [text: string, kind: 'address' | 'name', value: string][] = [
  [' 203.0.113.5 ', 'address', '203.0.113.5'],
  ['203.0.113.5/32', 'address', '203.0.113.5'],
  ['203.0.113.77/24', 'address', '203.0.113.0/24'],
  ['::ffff:203.0.113.5', 'address', '203.0.113.5'],
  ['2001:DB8:0:0::1', 'address', '2001:db8::1'],
  ['2001:db8::1/64', 'address', '2001:db8::/64'],
  ['10.0.0.0/8', 'address', '10.0.0.0/8'],
  ['Calm-River.tunnels.example.com.', 'name', 'calm-river.tunnels.example.com'],
  ['https://evil.example.com/login?x=1', 'name', 'evil.example.com'],
  ['*.evil.example.com', 'name', 'evil.example.com'],
  ['bücher.example', 'name', 'xn--bcher-kva.example'],
];
for (const [text, kind, value] of accepted)
  it(`takes ${text} for ${kind} ${value}`, () => assert.deepEqual(parseBlock(text), { ok: true, value: { kind, value } }));

const refused: readonly [text: string, message: RegExp, why: string][] = [
  ['0.0.0.0/0', /IPv4 addresses must be \/8 or smaller/, 'everybody'],
  ['128.0.0.0/1', /\/8 or smaller/, 'half of everybody'],
  ['::/0', /IPv6 addresses must be \/19 or smaller/, 'everybody'],
  ['2000::/3', /\/19 or smaller/, 'every public IPv6 address'],
  ['::ffff:0:0/96', /IPv4 addresses must be/, 'every IPv4 address, as IPv6'],
  ['', /Please enter/, 'nothing'],
  ['com', /Please enter/, 'one label'],
  ['*', /Please enter/, 'every name'],
  ['*.com', /Please enter/, 'every name of a top-level domain'],
  ['203.0.113', /Please enter/, 'not an address, and no name either'],
  ['203.0.113.5/33', /Please enter/, 'no range'],
  ['a..b.example', /Please enter/, 'an empty label'],
  [`${'a'.repeat(64)}.example`, /Please enter/, 'a label that is too long'],
];
for (const [text, message, why] of refused)
  it(`refuses '${text.slice(0, 20)}': ${why}`, () => {
    const parsed = parseBlock(text);
    assert.match(parsed.ok ? '' : parsed.message, message);
  });

it('wants a reason of a bounded length', () => {
  assert.equal(parseBlockReason('  ').ok, false);
  assert.equal(parseBlockReason('a'.repeat(blockReasonMaxChars)).ok, true);
  assert.equal(parseBlockReason('a'.repeat(blockReasonMaxChars + 1)).ok, false);
});

it('a name is held by a block of itself and of every name above it', () => {
  assert.deepEqual(blockingNames('a.b.example.com'), ['a.b.example.com', 'b.example.com', 'example.com']);
});

it('finds the own name that a block would hold, and none beside or below it', () => {
  const own = ['console.example.com', 'eu.example.com', 'tunnels.example.com'];
  assert.equal(heldOwnName('example.com', own), 'console.example.com');
  assert.equal(heldOwnName('tunnels.example.com', own), 'tunnels.example.com');
  assert.equal(heldOwnName('calm-river.tunnels.example.com', own), undefined);
  assert.equal(heldOwnName('ample.com', own), undefined);
});
