import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../limits.ts';
import { eachAccepted, eachCase, eachRefused } from '../test-kit.ts';
import { addIngressDomain, findApexName, parseIngressDomain, parseIngressDomains } from './ingress-domain.ts';

const invalid = 'Please enter a valid domain name.';
const none = 'Provide at least one ingress domain';

test('a name is accepted in canonical form', (t) => {
  eachAccepted(t, parseIngressDomain, [
    ['app.example.com', 'app.example.com'],
    ['example.com', 'example.com'],
    [' App.Example.COM. ', 'app.example.com'],
    ['a.b.c.d.example.com', 'a.b.c.d.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['quick-otter.tunnels.localhost', 'quick-otter.tunnels.localhost'],
    [' *.Apps.Example.COM. ', '*.apps.example.com'],
    ['*.example.com', '*.example.com'],
  ]);
});

test('anything else is refused with the text of the spec', (t) => {
  eachRefused(t, parseIngressDomain, invalid, [
    [''],
    ['app'],
    ['localhost'],
    ['*.com', 'every name of a top-level domain'],
    ['*', 'every name'],
    ['*.*.example.com'],
    ['a.*.example.com'],
    ['*a.example.com'],
    ['*.'],
    [`*.${'a.'.repeat(125)}aa`, '254 with the wildcard'],
    ['app_1.example.com'],
    ['-app.example.com'],
    ['https://app.example.com'],
    ['app.example.com:443'],
    ['app.example.com/'],
    ['127.0.0.1'],
    ['::1'],
    ['1.2.3'],
    ['app..example.com'],
    ['app.example.com, b.example.com'],
    ['app.example.com%00'],
    [`${'a'.repeat(64)}.example.com`],
    ['a.'.repeat(128), '255 without the root'],
  ]);
});

test('a duplicate is ignored, however it is written', (t) => {
  const rows: [string[], string, string[]][] = [
    [[], 'a.example.com', ['a.example.com']],
    [['a.example.com'], 'A.EXAMPLE.COM', ['a.example.com']],
    [['a.example.com'], 'a.example.com.', ['a.example.com']],
    [['xn--bcher-kva.example'], 'bücher.example', ['xn--bcher-kva.example']],
    [['a.example.com'], 'b.example.com', ['a.example.com', 'b.example.com']],
    [['a.example.com'], 'https://b.example.com/login', ['a.example.com', 'b.example.com']],
  ];
  eachCase(t, rows, ([list, text, result]) => assert.deepEqual(addIngressDomain(list, text), { ok: true, value: result }));
  assert.deepEqual(addIngressDomain(['a.example.com'], 'b'), { ok: false, message: invalid });
});

test('at least one is needed, unless a name is generated', (t) => {
  const max = limits.ingressDomainsPerTunnel;
  const many = Array.from({ length: max }, (_, index) => `n${index}.example.com`);
  const rows: [string[], { generate?: boolean; pending?: string }, string[] | string, string?][] = [
    [[], {}, none],
    [[], { pending: ' ' }, none],
    [[], { generate: true }, []],
    [['a.example.com'], { generate: true }, [], 'turning it on clears manual domains'],
    [['nonsense'], { generate: true, pending: 'nonsense' }, []],
    [[], { pending: 'a.example.com' }, ['a.example.com'], 'typed and not yet added'],
    [['a.example.com'], { pending: 'A.example.com' }, ['a.example.com']],
    [[], { pending: 'https://a.example.com/, b.example.com' }, ['a.example.com', 'b.example.com'], 'pasted'],
    [['https://a.example.com'], {}, invalid, 'a call gives names'],
    [['a.example.com'], { pending: 'b' }, invalid],
    [['b'], {}, invalid],
    [['a.example.com', 'a.example.com.'], {}, ['a.example.com']],
    [many, {}, many],
    [many, { pending: 'x.example.com' }, 'Provide at most 100 ingress domains; this list has 101.'],
  ];
  eachCase(t, rows, ([list, how, result]) =>
    assert.deepEqual(
      parseIngressDomains(list, how),
      typeof result === 'string' ? { ok: false, message: result } : { ok: true, value: result },
    ),
  );
});

test('the most specific apex of the project covers a name', (t) => {
  const rows: [string, string[], string | null][] = [
    ['a.example.com', ['example.com'], 'example.com'],
    ['example.com', ['example.com'], 'example.com'],
    ['a.b.example.com', ['example.com', 'b.example.com'], 'b.example.com'],
    ['a.b.example.com', ['b.example.com', 'example.com'], 'b.example.com'],
    ['badexample.com', ['example.com'], null],
    ['com', ['example.com'], null],
    ['a.example.com', [], null],
  ];
  eachCase(t, rows, ([name, apexes, apex]) => assert.equal(findApexName(name, apexes), apex));
});

test('a parsed list is parsed again unchanged', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.domain(), fc.string())), (list) => {
      const parsed = parseIngressDomains(list);
      if (parsed.ok) assert.deepEqual(parseIngressDomains(parsed.value), parsed);
    }),
  );
});
