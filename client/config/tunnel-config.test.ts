import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseUpstreams, upstreamLines } from './tunnel-config.ts';

for (const [text, line] of [
  ['https://10.0.0.7', 'all domains → https://10.0.0.7:443'],
  ['3000', 'all domains → http://127.0.0.1:3000'],
  [':3000', 'all domains → http://127.0.0.1:3000'],
  ['localhost:3000', 'all domains → http://localhost:3000'],
  ['[::1]:3000', 'all domains → http://[::1]:3000'],
  ['shop.example.com=3000', 'shop.example.com → http://127.0.0.1:3000'],
  ['shop.example.com=10.0.0.7:80', 'shop.example.com → http://10.0.0.7:80'],
] as const) {
  test(`accepts ${text} as an upstream of an http tunnel`, () => {
    const parsed = parseUpstreams('http', [text]);
    assert.ok(parsed.ok);
    assert.deepEqual(upstreamLines(parsed.value), [line]);
  });
}

for (const text of ['', '65536', '80=3000', 'http://127.0.0.1:3000/path', 'unix:/run/shop.sock']) {
  test(`refuses the upstream '${text}' and quotes it`, () => {
    const parsed = parseUpstreams('http', [text]);
    assert.ok(!parsed.ok);
    assert.match(parsed.message, new RegExp(`\\(given: '${text}'\\)$`));
  });
}

for (const [type, text, other] of [
  ['http', '80=127.0.0.1:8080', 'ingress'],
  ['http', '10.0.0.5', 'ingress'],
  ['http', 'localhost', 'ingress'],
  ['ingress', 'http://127.0.0.1:8080', 'http'],
  ['ingress', 'shop.example.com=http://127.0.0.1:8080', 'http'],
  ['ingress', '3000', 'http'],
] as const) {
  test(`says that ${text} is for an ${other} tunnel`, () => {
    const parsed = parseUpstreams(type, [text]);
    assert.ok(!parsed.ok);
    assert.match(parsed.message, new RegExp(`^'${text}' is an upstream of an ${other} tunnel; an ${type} tunnel takes [A-Z]+`));
  });
}
