import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestHead } from './request-head.ts';

function keptLines(fields: string): readonly string[] {
  const { head, bytes, end } = scan(fields);
  let text = '';
  let at = head.fieldsAt;
  for (let i = 0; i < head.dropCount; i++) {
    text += bytes.toString('latin1', at, head.drops[2 * i]);
    at = head.drops[2 * i + 1] as number;
  }
  return (text + bytes.toString('latin1', at, end - 2)).split('\r\n').slice(1, -1);
}

function scan(fields: string): { head: RequestHead; bytes: Buffer; end: number } {
  const bytes = Buffer.from(`GET / HTTP/1.1\r\nHost: a.example\r\n${fields}\r\n`, 'latin1');
  const head = new RequestHead();
  const end = head.scan(bytes, 0, bytes.length);
  assert.ok(end > 0, head.refusedWhy);
  return { head, bytes, end };
}

const copies = [
  'X-Underpass-User',
  'x-underpass-email',
  'X_Underpass_User',
  'X.Underpass-Groups',
  'X-Underpass-Assertion',
  'X-Underpass-',
];
for (const name of copies) {
  test(`drops the visitor's ${name}`, () => assert.deepEqual(keptLines(`A: b\r\n${name}: root\r\nC: d\r\n`), ['A: b', 'C: d']));
}
test('keeps names that only look alike', () => {
  assert.deepEqual(keptLines('X-Underpas: a\r\nX-Underpassed: b\r\n'), ['X-Underpas: a', 'X-Underpassed: b']);
});

function cookiesOf(head: RequestHead): (readonly [line: number, start: number, end: number])[] {
  const found: (readonly [number, number, number])[] = [];
  head.eachCookie((...span) => found.push(span));
  return found;
}

test('notes each Cookie and Authorization field, and cuts any part out', () => {
  const { head, bytes } = scan('Cookie: a=b; c=d\r\nConnection: x-a\r\nX-A: 1\r\nAuthorization: Basic x\r\nCookie: e=f\r\n');
  assert.equal(head.cookieCount, 2);
  assert.equal(head.authorizationCount, 1);
  assert.deepEqual(
    cookiesOf(head).map(([, start, end]) => bytes.toString('latin1', start, end)),
    ['a=b; c=d', 'e=f'],
  );
  head.cut(head.authorizationLine, head.authorizationEnd + 2);
  const [[, first] = [0, 0]] = cookiesOf(head);
  head.cut(first, first + 5);
  const left: string[] = [];
  for (let i = 0; i < head.dropCount; i++) left.push(bytes.toString('latin1', head.drops[2 * i], head.drops[2 * i + 1]));
  assert.deepEqual(left, ['a=b; ', 'Connection: x-a\r\n', 'X-A: 1\r\n', 'Authorization: Basic x\r\n']);
});

test('cuts nothing twice: Connection may name the field', () => {
  const { head } = scan('Cookie: a=b\r\nConnection: cookie\r\n');
  const before = head.drops.slice(0, 2 * head.dropCount);
  for (const [, start, end] of cookiesOf(head)) head.cut(start, end);
  assert.deepEqual(head.drops.slice(0, 2 * head.dropCount), before);
});
