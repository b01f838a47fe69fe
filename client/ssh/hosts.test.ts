import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileSshHosts, parsePin, parseSshAddress, parseSshHosts, parseSshTarget, renderSshConfig } from './hosts.ts';

test('hosts are names with addresses, on port 22 unless they name another', () => {
  const parsed = parseSshHosts(
    ['Box1=192.168.1.10', 'box2=[fd00::2]:2222', 'nas=nas.lan'],
    ['box2=2001:DB8::/32', 'box2=192.0.2.7'],
  );
  assert.deepEqual(parsed, {
    ok: true,
    value: [
      { name: 'box1', upstream: { scheme: 'tcp', host: '192.168.1.10', port: 22 }, allowList: null },
      { name: 'box2', upstream: { scheme: 'tcp', host: 'fd00::2', port: 2222 }, allowList: ['2001:db8::/32', '192.0.2.7'] },
      { name: 'nas', upstream: { scheme: 'tcp', host: 'nas.lan', port: 22 }, allowList: null },
    ],
  });
});

const wrong: readonly (readonly [why: string, hosts: readonly string[], rules: readonly string[], message: RegExp])[] = [
  ['no name', ['192.168.1.10'], [], /must be like box1=/],
  ['a name of two labels', ['a.b=192.168.1.10'], [], /must be like box1=/],
  ['a name with a space', ['a b=192.168.1.10'], [], /must be like box1=/],
  ['a name that a shell reads', ['$(id)=192.168.1.10'], [], /must be like box1=/],
  ['no address', ['box1='], [], /Please provide an upstream/],
  ['a URL', ['box1=http://192.168.1.10'], [], /must be like 127/],
  ['one name twice', ['box1=10.0.0.1', 'BOX1=10.0.0.2'], [], /Two addresses for box1/],
  ['a rule for no host', ['box1=10.0.0.1'], ['box2=192.0.2.7'], /must begin with the name of a --host/],
  ['a rule without a name', ['box1=10.0.0.1'], ['192.0.2.7'], /must begin with the name of a --host/],
  ['a rule that is no range', ['box1=10.0.0.1'], ['box1=192.0.2.0/33'], /valid IP\/CIDR/],
];
for (const [why, hosts, rules, message] of wrong) {
  test(`refuses ${why}`, () => {
    const parsed = parseSshHosts(hosts, rules);
    assert.match(parsed.ok ? '' : parsed.message, message);
  });
}

test('a host with an allow-list is reached only from there, and names are no properties', () => {
  const parsed = parseSshHosts(['open=10.0.0.1', 'shut=10.0.0.2'], ['shut=192.0.2.0/24']);
  assert.ok(parsed.ok);
  const find = compileSshHosts(parsed.value);
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['open', '203.0.113.9', true],
    ['OPEN', '2001:db8::1', true],
    ['shut', '192.0.2.200', true],
    ['shut', '::ffff:192.0.2.200', true],
    ['shut', '203.0.113.9', false],
    ['shut', '2001:db8::1', false],
    ['shut', '', false],
    ['other', '192.0.2.200', false],
    ['__proto__', '192.0.2.200', false],
    ['constructor', '192.0.2.200', false],
    ['', '192.0.2.200', false],
  ];
  for (const [name, address, isFound] of cases) assert.equal(find(name, address) !== null, isFound, `${name} from ${address}`);
});

test('a target is the name of a host in front of the domain', () => {
  const target = (text: string) => {
    const parsed = parseSshTarget(text);
    return parsed.ok ? parsed.value : null;
  };
  assert.deepEqual(target('box1.ssh.example.com'), { name: 'box1', domain: 'ssh.example.com', port: 443 });
  assert.deepEqual(target('Box1.SSH.example.com.'), { name: 'box1', domain: 'ssh.example.com', port: 443 });
  assert.deepEqual(target('box1.ssh.localhost:8443'), { name: 'box1', domain: 'ssh.localhost', port: 8443 });
  const refused = [
    'box1',
    'box1.com',
    '192.0.2.7',
    'a..b.c',
    '-x.example.com',
    'a.b.c:0',
    'a.b.c:99999',
    'a.b.c:22:22',
    '$(id).b.c',
    '',
  ];
  for (const text of refused) assert.equal(target(text), null, text);
});

test('the lines for visitors name every host and leave the checks of host keys alone', () => {
  const parsed = parseSshHosts(['box1=10.0.0.1', 'box2=10.0.0.2'], []);
  const pin = 'ab'.repeat(32);
  assert.ok(parsed.ok);
  assert.equal(
    renderSshConfig(parsed.value, { domain: 'ssh.example.com', port: 443 }, pin),
    `Host box1.ssh.example.com box2.ssh.example.com\n  ProxyCommand underpass ssh connect --pin ${pin} %h\n  ServerAliveInterval 30`,
  );
  const place = parseSshAddress('ssh.example.com:8443');
  assert.ok(place.ok);
  assert.match(renderSshConfig(parsed.value, place.value, pin), / %h:8443$/m);
});

test('a pin is 64 digits, with or without colons', () => {
  assert.deepEqual(parsePin(`${'AB:'.repeat(31)}CD`), { ok: true, value: `${'ab'.repeat(31)}cd` });
  for (const text of ['', 'ab', 'zz'.repeat(32), `${'ab'.repeat(32)}c`]) assert.equal(parsePin(text).ok, false);
});
