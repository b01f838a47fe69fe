import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BodyScan, bodyLimits } from './body-scan.ts';

const bytesOf = (text: string) => Buffer.from(text, 'latin1');

/** The offset where the body ends, or -1 if it is malformed, and whether it was complete. */
function scan(text: string, step = text.length): { end: number; done: boolean } {
  const bytes = bytesOf(text);
  const body = new BodyScan();
  body.start('chunked');
  let at = 0;
  while (at < bytes.length && !body.done) {
    const end = body.take(bytes, at, Math.min(bytes.length, at + step));
    if (end < 0) return { end, done: false };
    at = end;
  }
  return { end: at, done: body.done };
}

describe('finds the end of a chunked body, however the bytes are cut', () => {
  const whole = [
    '0\r\n\r\n',
    '5\r\nhello\r\n0\r\n\r\n',
    'A\r\n0123456789\r\n1\r\na\r\n0\r\n\r\n',
    '5;name=value;other="a b"\r\nhello\r\n0\r\nX-Checksum: abc\r\nX-Other:\r\n\r\n',
    '000005\r\nhello\r\n000\r\n\r\n',
  ];
  for (const text of whole) {
    it(JSON.stringify(text), () => {
      for (let step = 1; step <= text.length; step++)
        assert.deepEqual(scan(`${text}GET /`, step), { end: text.length, done: true });
    });
  }
});

describe('refuses a chunked body', () => {
  const broken: readonly (readonly [string, string])[] = [
    ['no size', '\r\n'],
    ['size with a sign', '+5\r\nhello\r\n'],
    ['size with 0x', '0x5\r\nhello\r\n'],
    ['size not hexadecimal', 'G\r\n'],
    ['size that overflows', '10000000000000000\r\n'],
    ['size of thirteen digits', '0000000000005\r\nhello\r\n'],
    ['size that ends in LF alone', '5\nhello\r\n0\r\n\r\n'],
    ['size that ends in CR alone', '5\rhello\r\n'],
    ['white space before the size', ' 5\r\nhello\r\n'],
    ['white space behind the size', '5 \r\nhello\r\n'],
    ['white space before the extension', '5 ;a\r\nhello\r\n'],
    ['extension without a size', ';a\r\n'],
    ['LF in an extension', '5;a\nb\r\nhello\r\n'],
    ['CR in an extension', '5;a\rb\r\nhello\r\n'],
    ['NUL in an extension', '5;a\0\r\nhello\r\n'],
    ['extension beyond the bound', `5;${'a'.repeat(bodyLimits.chunkLineBytes)}\r\nhello\r\n`],
    ['data longer than its size', '5\r\nhello!\r\n0\r\n\r\n'],
    ['data that ends in LF alone', '5\r\nhello\n0\r\n\r\n'],
    ['trailers beyond the bound', `0\r\nX-A: ${'a'.repeat(bodyLimits.trailerBytes)}\r\n\r\n`],
    ['trailer folded', '0\r\nX-A: b\r\n c\r\n\r\n'],
    ['trailer with space before the colon', '0\r\nX-A : b\r\n\r\n'],
    ['trailer without a name', '0\r\n: b\r\n\r\n'],
    ['trailer that frames', '0\r\nContent-Length: 5\r\n\r\n'],
    ['trailer that routes', '0\r\nHost: b.example\r\n\r\n'],
    ['trailer that spoofs', '0\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n'],
    ['trailer that spoofs by an alias', '0\r\nx_real_ip: 1.1.1.1\r\n\r\n'],
    ['last line that ends in LF alone', '0\r\n\n'],
  ];
  for (const [why, text] of broken) {
    it(why, () => {
      assert.equal(scan(text).end, -1);
      assert.equal(scan(text, 1).end, -1);
    });
  }

  it('of tiny chunks that are mostly extension', () => {
    const chunk = `1;${'a'.repeat(200)}\r\nx\r\n`;
    assert.equal(scan(chunk.repeat(1000)).end, -1);
    assert.ok(scan('1\r\nx\r\n'.repeat(100_000)).end > 0);
  });
});

describe('other framings', () => {
  it('a body with a length ends at its last byte', () => {
    const body = new BodyScan();
    body.start('length', 5);
    assert.equal(body.take(bytesOf('hel'), 0, 3), 3);
    assert.equal(body.done, false);
    assert.equal(body.take(bytesOf('loGET'), 0, 5), 2);
    assert.equal(body.done, true);
    assert.equal(body.take(bytesOf('GET'), 0, 3), 0);
  });

  it('the overhead limit counts each body separately', () => {
    const body = new BodyScan();
    const chunked = bytesOf(`${`1;${'a'.repeat(200)}\r\nx\r\n`.repeat(60)}0\r\nx: ${'b'.repeat(5_000)}\r\n\r\n`);
    for (let round = 0; round < 3; round++) {
      body.start('chunked');
      assert.equal(body.take(chunked, 0, chunked.length), chunked.length);
      assert.equal(body.done, true);
    }
  });

  it('a body until close never ends by itself, and no body ends at once', () => {
    const body = new BodyScan();
    body.start('until-close');
    assert.equal(body.take(bytesOf('abc'), 0, 3), 3);
    assert.equal(body.done, false);
    body.start('none');
    assert.equal(body.done, true);
    body.start('length', 0);
    assert.equal(body.done, true);
  });
});

describe('trailers of a body', () => {
  it('keep their names in lower case: "_" and "." are not "-"', () => {
    const told: string[] = [];
    const body = new BodyScan();
    body.start('chunked');
    body.sink = { data: () => {}, trailer: (name, value) => void told.push(`${name}=${value}`) };
    const bytes = bytesOf('0\r\nX_Sum.SHA: a\r\nGrpc-Status: 0\r\n\r\n');
    assert.equal(body.take(bytes, 0, bytes.length), bytes.length);
    assert.deepEqual(told, ['x_sum.sha=a', 'grpc-status=0']);
  });
});
