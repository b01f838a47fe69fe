import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { createProcessIo } from '../process/process-io.ts';
import { listenForReach } from './listen.ts';

async function listening(t: TestContext) {
  const told: string[] = [];
  const ends: (() => void)[] = [];
  const io = {
    ...createProcessIo({}),
    onSignal: (_: unknown, end: () => void) => {
      ends.push(end);
      return () => {};
    },
  };
  const address = Promise.withResolvers<string>();
  let waiting = 0;
  const open = (signal: AbortSignal): Promise<TLSSocket> => {
    waiting++;
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        waiting--;
        reject(signal.reason);
      }),
    );
  };
  const onFailed = (error: Error): void => void told.push(error.message);
  const ended = listenForReach(io, { host: '127.0.0.1', port: 0 }, { open, onListening: address.resolve, onFailed });
  t.after(async () => {
    for (const end of ends) end();
    await ended;
  });
  const port = Number((await address.promise).split(':').at(-1));
  return { told, port, waiting: () => waiting };
}

test('of 513 connections that wait, the last is closed, and the reason said', { timeout: 30_000 }, async (t) => {
  const { told, port, waiting } = await listening(t);
  const dial = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  // No more at once than every system's queue of a listening socket takes.
  for (let batch = 0; batch < 8; batch++) await Promise.all(Array.from({ length: 64 }, dial));
  const late = await dial();
  await once(late.resume(), 'close');
  assert.equal(waiting(), 512);
  assert.deepEqual(told, ['512 connections are open, the most of one command']);
});
