import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { it } from 'node:test';
import { pino } from 'pino';
import { Doorman } from '../limits/connection-limiter.ts';
import { Sweeper } from '../limits/deadlines.ts';
import { RouteTable } from '../routes/route-table.ts';
import { Dialer } from '../upstream/dialer.ts';
import { Http1Visitor } from './http1-visitor.ts';
import { defaultTimeouts, House } from './visitor-context.ts';

const ends = { sourceAddress: '192.0.2.1', sourcePort: 1, destinationAddress: '192.0.2.2', destinationPort: 443 };

it('a visitor that does not take the last of its answer is held as long as any that takes nothing, not for an hour', () => {
  const log = pino({ level: 'silent' });
  const sweeper = new Sweeper();
  const doorman = new Doorman({ total: 10, perAddress: 10 }, log);
  const table = new RouteTable(log);
  const house = new House({ table, sweeper, doorman, dialer: new Dialer(null), timeouts: defaultTimeouts, log });
  // Nothing that is written is ever taken.
  const socket = new Duplex({ read() {}, write() {}, final() {} });
  const visitor = new Http1Visitor(house, socket, ends, 'a.test', null);
  socket.emit('data', Buffer.from('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'));
  assert.ok(socket.writableLength > 0);
  assert.ok(visitor.deadlineMs <= sweeper.nowMs + defaultTimeouts.stallMs, `${visitor.deadlineMs - sweeper.nowMs} ms`);
  visitor.cut();
  sweeper.close();
});
