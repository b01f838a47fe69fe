import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { it } from 'node:test';
import { createTestContext } from '../fixture/context.ts';
import { defaultTimeouts } from '../limits/timeouts.ts';
import { Http1Visitor } from './http1-visitor.ts';

const ends = { sourceAddress: '192.0.2.1', sourcePort: 1, destinationAddress: '192.0.2.2', destinationPort: 443 };

it('a visitor that does not read the last of its answer is held as long as any that reads nothing', () => {
  const context = createTestContext();
  const { deadlines } = context;
  // The system never takes what is written.
  const socket = new Duplex({ read() {}, write() {}, final() {} });
  const visitor = new Http1Visitor(context, socket, ends, 'a.test', null);
  socket.emit('data', Buffer.from('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'));
  assert.ok(socket.writableLength > 0);
  assert.ok(visitor.deadlineMs <= deadlines.nowMs + defaultTimeouts.stallMs, `${visitor.deadlineMs - deadlines.nowMs} ms`);
  visitor.cut();
  deadlines.close();
});
