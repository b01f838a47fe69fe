import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderLogLine } from './log-line.ts';

const at = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

test('an event is one line with time, tunnel and what happened', () => {
  const problem = { tunnel: 'shop', event: 'problem', code: 'token-refused', text: 'the token is refused: rotate it' } as const;
  assert.equal(
    renderLogLine(problem, at, false),
    '2026-01-02T03:04:05.006Z shop problem code=token-refused: the token is refused: rotate it\n',
  );
  assert.deepEqual(JSON.parse(renderLogLine(problem, at, true)), { at: '2026-01-02T03:04:05.006Z', ...problem });
});

test('visits are called so, and JSON keeps their former name too', () => {
  const traffic = { tunnel: 'shop', event: 'traffic', visits: 100, requests: 100, rxBytes: 5, txBytes: 6 } as const;
  assert.match(renderLogLine(traffic, at, false), / shop traffic visits=100 rxBytes=5 txBytes=6\n$/);
  assert.deepEqual(JSON.parse(renderLogLine(traffic, at, true)), { at: '2026-01-02T03:04:05.006Z', ...traffic });
});

test('no text in an event breaks the line or controls the terminal', () => {
  const event = { tunnel: 'a\nb', event: 'problem', text: 'x\r\n\u001b[2Jy\u009b2J' } as const;
  assert.equal(renderLogLine(event, at, false).split('\n').length, 2);
  assert.doesNotMatch(renderLogLine(event, at, false), /[\u001b\u009b\r]/);
  assert.equal(renderLogLine(event, at, true).split('\n').length, 2);
  assert.doesNotMatch(renderLogLine(event, at, true), /[\u001b\u009b\r]/);
  assert.equal(JSON.parse(renderLogLine(event, at, true)).text, event.text);
});
