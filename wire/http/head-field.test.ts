import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headFieldOf } from './head-field.ts';
import { RequestHead } from './request-head.ts';

function valuesOf(name: string, ...lines: readonly string[]): { readonly count: number; readonly value: string } {
  const bytes = Buffer.from(`GET / HTTP/1.1\r\nHost: t.test\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`, 'latin1');
  const head = new RequestHead();
  const end = head.scan(bytes, 0, bytes.length);
  const { count, start, end: stop } = headFieldOf(head, bytes, end, name);
  return { count, value: bytes.toString('latin1', start, stop) };
}

test('finds a field in any spelling that a CGI upstream takes for its name', () => {
  for (const line of ['X-Api-Key: \tsecret ', 'x_api_key:secret', 'X-API_KEY: secret']) {
    assert.deepEqual(valuesOf('x-api-key', 'Accept: */*', line, 'A: b'), { count: 1, value: 'secret' });
  }
  assert.deepEqual(valuesOf('x-api-key', 'X-Api-Key: one', 'x_api_key: two'), { count: 2, value: 'two' });
});

test('finds no field whose name only begins or ends alike', () => {
  assert.equal(valuesOf('x-api-key', 'X-Api-Key-Id: 1', 'X-Api-Ke: y: secret', 'My-X-Api-Key: 1', 'A: x-api-key: 1').count, 0);
});

test('finds no field that has a meaning of its own for the edge', () => {
  assert.equal(valuesOf('cookie', 'Cookie: a=b').count, 0);
  assert.equal(valuesOf('x-real-ip', 'X-Real-IP: 192.0.2.1').count, 0);
});
