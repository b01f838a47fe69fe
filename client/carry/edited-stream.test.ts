import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Stream } from '@underpass/wire/api.ts';
import { editStream } from './edited-stream.ts';

const upstream = { scheme: 'http', host: '127.0.0.1', port: 3000 } as const;
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';
const requestOf = (host: string, body: string): string =>
  `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** A stream that counts credit as MuxStream does, and the socket's side of a relay. */
function join(sentHost: string) {
  const seen = { credit: 0, received: 0, written: '', upstream: '', resets: [] as string[], ended: false };
  const stream = {
    onData: (_chunk: Buffer) => {},
    onDrain: () => {},
    write: (chunk: Buffer) => {
      seen.written += chunk.toString('latin1');
      return !chunk.includes('full');
    },
    end: () => {
      seen.ended = true;
    },
    reset: (code: string) => seen.resets.push(code),
    consume: (bytes: number) => {
      seen.credit += bytes;
      assert.ok(seen.credit <= seen.received, 'credit for bytes that never came');
    },
  };
  const edited = editStream(stream as unknown as Stream, { key: '*', upstream, sentHost });
  const untaken: number[] = [];
  edited.onData = (chunk) => {
    seen.upstream += chunk.toString('latin1');
    untaken.push(chunk.length);
  };
  edited.onReset = (code) => seen.resets.push(`socket ${code}`);
  return {
    seen,
    edited,
    stream,
    receive(text: string) {
      seen.received += text.length;
      stream.onData(Buffer.from(text, 'latin1'));
    },
    take: () => {
      for (const bytes of untaken.splice(0)) edited.consume(bytes);
    },
  };
}

describe('credit of an edited stream', () => {
  for (const [what, sentHost] of [
    ['a longer', `${'long.'.repeat(20)}example`],
    ['a shorter', 'a'],
  ] as const) {
    for (const size of [1, 10, 1_000]) {
      it(`comes back exactly with ${what} Host, in pieces of ${size}`, () => {
        const { seen, edited, receive, take } = join(sentHost);
        for (let count = 0; count < 50; count++) {
          const text = requestOf('shop.example.com', 'x'.repeat(count));
          for (let at = 0; at < text.length; at += size) receive(text.slice(at, at + size));
          if (count % 3 === 0) take();
          edited.write(Buffer.from(ok));
        }
        take();
        assert.equal(seen.credit, seen.received);
        assert.equal(seen.upstream, Array.from({ length: 50 }, (_, count) => requestOf(sentHost, 'x'.repeat(count))).join(''));
        assert.equal(seen.written, ok.repeat(50));
      });
    }
  }
});

describe('an edited stream', () => {
  it('passes the call to wait, the drain and the end on', () => {
    const { seen, edited, stream, receive } = join('a');
    receive(requestOf('shop.example.com', ''));
    assert.equal(edited.write(Buffer.from('HTTP/1.1 200 OK\r\n\r\n')), true);
    assert.equal(edited.write(Buffer.from('full')), false);
    let drained = false;
    edited.onDrain = () => {
      drained = true;
    };
    stream.onDrain();
    edited.end();
    assert.deepEqual([drained, seen.ended], [true, true]);
  });

  it('ends both sides at a second request before the answer, and sends none of it on', () => {
    const { seen, receive } = join('a');
    receive(requestOf('shop.example.com', 'x') + requestOf('shop.example.com', 'smuggled'));
    assert.deepEqual(seen.resets, ['protocol', 'socket protocol']);
    assert.ok(!seen.upstream.includes('smuggled'));
  });
});
