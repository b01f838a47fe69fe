import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBrowserPort } from './browser-port.ts';

test('a port is for browsers if fetch opens it, for each port up to the highest that is refused', async () => {
  const reached = new Error('reached');
  const dispatcher = {
    dispatch() {
      throw reached;
    },
  };
  const opens = (port: number): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/`, { dispatcher } as unknown as RequestInit).then(
      () => assert.fail('nothing was sent'),
      (error: Error) => (error.cause as Error).message !== 'bad port',
    );
  const differing = [];
  for (let port = 1; port <= 10_100; port++) if ((await opens(port)) !== isBrowserPort(port)) differing.push(port);
  assert.deepEqual(differing, []);
});
