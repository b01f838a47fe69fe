import assert from 'node:assert/strict';
import { it } from 'node:test';
import { InheritedSockets } from './inherited-sockets.ts';
import { socketKey } from './listen.ts';

const https = { port: 443 };

it('gives each socket once, in order, and only for the address that it was opened for', () => {
  const closed: number[] = [];
  const key = socketKey('https', https);
  const sockets = new InheritedSockets([key, socketKey('http', { port: 80 }), key], 4, (fd) => void closed.push(fd));
  assert.deepEqual(sockets.take('https', https), { port: 443, fd: 4 });
  assert.deepEqual(sockets.take('https', https), { port: 443, fd: 6 });
  assert.deepEqual(sockets.take('https', https), https);
  assert.deepEqual(sockets.take('http', { port: 8480 }), { port: 8480 });
  assert.deepEqual(sockets.take('http', { host: '127.0.0.1', port: 80 }), { host: '127.0.0.1', port: 80 });
  sockets.closeRest();
  sockets.closeRest();
  assert.deepEqual(closed, [5]);
});
