import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ResponseHead } from './response-head.ts';

function scan(text: string): { head: ResponseHead; end: number } {
  const bytes = Buffer.from(text, 'latin1');
  const head = new ResponseHead();
  return { head, end: head.scan(bytes, 0, bytes.length) };
}

describe('the status line of a response', () => {
  for (const line of ['HTTP/1.1 200 OK', 'HTTP/1.0 404 Not Found', 'HTTP/1.1 599 ', 'HTTP/1.1 100', 'HTTP/1.1 200 \xe4\t!']) {
    it(`may be ${JSON.stringify(line)}`, () => {
      const { head, end } = scan(`${line}\r\n\r\n`);
      assert.ok(end > 0, head.refusedWhy);
      assert.equal(head.status, Number(line.slice(9, 12)));
    });
  }

  const refused: readonly (readonly [string, string])[] = [
    ['a status above 599', 'HTTP/1.1 600 Odd'],
    ['a status below 100', 'HTTP/1.1 099 Odd'],
    ['a status of letters', 'HTTP/1.1 2x0 Odd'],
    ['a status of four digits', 'HTTP/1.1 2000 Odd'],
    ['another version', 'HTTP/1.2 200 OK'],
    ['HTTP/2 as text', 'HTTP/2.0 200 OK'],
    ['lower case', 'http/1.1 200 OK'],
    ['two spaces', 'HTTP/1.1  200 OK'],
    ['a NUL in the reason phrase', 'HTTP/1.1 200 O\0K'],
    ['a bare CR in the reason phrase', 'HTTP/1.1 200 O\rK'],
  ];
  for (const [why, line] of refused) {
    it(`is refused: ${why}`, () => {
      const { head, end } = scan(`${line}\r\nContent-Length: 0\r\n\r\n`);
      assert.deepEqual([end, head.refusedStatus], [-1, 502]);
    });
  }
});
