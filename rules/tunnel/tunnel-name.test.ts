import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachAccepted, eachCase, eachRefused } from '../test-kit.ts';
import { parseObjectName } from '../text/object-name.ts';
import { mayDeleteSecurityGroup, securityGroupChoices } from '../text/security-group-name.ts';
import { lowerTunnelName, parseTunnelName } from './tunnel-name.ts';

const message = 'A name that can be used as a DNS subdomain is required';

test('a tunnel name is accepted in lower case', (t) => {
  eachAccepted(t, parseTunnelName, [
    ['web', 'web'],
    ['Web', 'web'],
    ['a', 'a'],
    ['1', '1'],
    ['a-b', 'a-b'],
    ['a--b', 'a--b'],
    ['2026-backup', '2026-backup'],
    [' web ', 'web'],
    ['x'.repeat(252), 'x'.repeat(252), 'the longest'],
  ]);
});

test('any other tunnel name is refused with the text of the spec', (t) => {
  eachRefused(t, parseTunnelName, message, [
    [''],
    [' '],
    ['-web'],
    ['web-'],
    ['-'],
    ['we b'],
    ['web.app', 'a dot is no letter, digit or hyphen'],
    ['web_app'],
    ['web/app', 'a path segment more'],
    ['..'],
    ['.'],
    ['%2e%2e'],
    ['web\n'.repeat(2)],
    ['web\0'],
    ['wéb'],
    ['\u212Aube', 'the Kelvin sign becomes k in a careless lower case'],
    ['İstanbul', 'two characters in lower case'],
    ['ｗｅｂ', 'full-width letters'],
    ['w\u0435b', 'a Cyrillic look-alike'],
    ['x'.repeat(253)],
    ['x'.repeat(1_000_000)],
    ["web';--"],
    ['web?project=2'],
    ['web#'],
  ]);
});

test('the input shows what was typed in lower case, and nothing else changes', () => {
  assert.equal(lowerTunnelName('My Tunnel_\u212A'), 'my tunnel_\u212A');
});

test('an accepted tunnel name is a path segment that needs no encoding', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[A-Za-z0-9._-]{0,20}$/)), (text) => {
      const parsed = parseTunnelName(text);
      if (!parsed.ok) return;
      assert.equal(encodeURIComponent(parsed.value), parsed.value);
      assert.equal(new URL(`http://h/tunnels/${parsed.value}`).pathname, `/tunnels/${parsed.value}`);
      assert.deepEqual(parseTunnelName(parsed.value), parsed);
    }),
    { numRuns: 2000 },
  );
});

const shape = "Name must be letters, digits, spaces, '.', '-' or '_', and start and end with a letter or digit.";

test('a security group is named', (t) => {
  eachAccepted(t, parseObjectName, [
    ['office', 'office'],
    [' Office network ', 'Office network'],
    ['v1.2_a-b', 'v1.2_a-b'],
    ['default', 'default'],
    ['7', '7'],
    ['g'.repeat(63), 'g'.repeat(63)],
  ]);
});

test('a security group needs a name', (t) => {
  eachRefused(t, parseObjectName, 'Name is required.', [[''], ['  '], ['\n']]);
});

test('a security group name that could be mistaken for a path is refused', (t) => {
  eachRefused(t, parseObjectName, shape, [
    ['.'],
    ['..'],
    ['a/b'],
    ['a\\b'],
    ['%2e%2e'],
    ['a?b'],
    ['a#b'],
    ['a\nb'],
    ['a\0b'],
    ['-a'],
    ['a.'],
    ['ä'],
    ['a\u202Eb'],
    ['<b>'],
  ]);
  assert.equal(parseObjectName('g'.repeat(64)).ok, false);
});

test('the default group stays, and is offered where there is no other', (t) => {
  eachCase(t, ['default'], (name) => assert.equal(mayDeleteSecurityGroup(name), false));
  eachCase(t, ['office', 'Default', 'default2'], (name) => assert.equal(mayDeleteSecurityGroup(name), true));
  assert.deepEqual(securityGroupChoices([]), ['default']);
  assert.deepEqual(securityGroupChoices(['office']), ['office']);
});

test('an accepted security group name survives a URL', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[A-Za-z0-9 ._-]{0,12}$/)), (text) => {
      const parsed = parseObjectName(text);
      if (!parsed.ok) return;
      const url = new URL(`http://h/security-groups/${encodeURIComponent(parsed.value)}`);
      assert.equal(decodeURIComponent(url.pathname.split('/')[2]!), parsed.value);
    }),
    { numRuns: 1000 },
  );
});
