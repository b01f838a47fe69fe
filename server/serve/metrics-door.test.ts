import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { testSettings } from '../test-kit.ts';
import { openMetricsDoor } from './metrics-door.ts';

test('a metric that cannot be read fails the scrape with a log line, and the server keeps running', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
  const broken = { contentType: 'text/plain', metrics: () => Promise.reject(new Error('no figure')) };
  const door = await openMetricsDoor(testSettings('/nowhere', { UNDERPASS_METRICS_PORT: '0' }), [broken], log);
  const origin = `http://127.0.0.1:${door?.port}`;
  assert.equal((await fetch(`${origin}/metrics`)).status, 500);
  assert.match(lines.join(), /no figure/);
  assert.equal((await fetch(`${origin}/else`)).status, 404);
  door?.close();
});
