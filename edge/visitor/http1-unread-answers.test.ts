// The edge's own answers have no stream window that bounds them, so a visitor that reads none must not get ever more of them.

import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { it } from 'node:test';
import { createTestContext } from '../fixture/context.ts';
import { defaultTimeouts } from '../limits/timeouts.ts';
import { Http1Visitor } from './http1-visitor.ts';

const ends = { sourceAddress: '192.0.2.1', sourcePort: 1, destinationAddress: '192.0.2.2', destinationPort: 443 };
const requests = 1_000;

/** A visitor that asks for an unknown host, and reads no answer before take(). */
function createScene() {
  const context = createTestContext();
  const { deadlines } = context;
  let waiting: (() => void) | null = null;
  let takes = false;
  let received = '';
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      received += chunk.toString('latin1');
      if (takes) setImmediate(done);
      else waiting = done;
    },
  });
  const visitor = new Http1Visitor(context, socket, ends, 'a.test', null);
  const take = (): void => {
    takes = true;
    waiting?.();
  };
  const answered = (): number => [...context.counters.errors.values()].reduce((sum, count) => sum + count, 0);
  return { visitor, socket, deadlines, take, answered, received: () => received };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('requests sent ahead by a visitor that reads no answer wait until it does, and are then all answered', async () => {
  const { visitor, socket, deadlines, take, answered, received } = createScene();
  socket.push(Buffer.from('GET / HTTP/1.1\r\nHost: b.test\r\n\r\n'.repeat(requests)));
  for (let i = 0; i < 3 * requests; i++) await turn();
  assert.ok(answered() > 0 && answered() < requests / 10, `${answered()} answers`);
  assert.ok(visitor.deadlineMs <= deadlines.nowMs + defaultTimeouts.stallMs);
  take();
  while (answered() < requests) await turn();
  while (received().split('HTTP/1.1 404 ').length <= requests) await turn();
  visitor.cut();
  deadlines.close();
});
