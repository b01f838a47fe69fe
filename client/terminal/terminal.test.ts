// The live status in a real terminal that is resized and then interrupted.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { outcome, startUpstream, visit } from '../carry/fixture/carrying.ts';
import { startFakeEdge } from '../carry/fixture/edge.ts';
import { openTerminal } from '../fixture/terminal.ts';

/** The repaints so far; the last one is not complete yet. */
const framesOf = (text: string): readonly string[] => text.split('\x1b[?2026l').slice(0, -1);
const isNarrow = (frame: string): boolean => frame.includes('Ctrl-C') && !frame.includes('at once');

/**
 * Types once the client is connected, makes the terminal 40 wide, and presses Ctrl-C at the first frame that is cut to that width.
 * A frame that was on its way when the width changed is still a wide one.
 */
async function watched(t: TestContext, env: Record<string, string>) {
  await using edge = await startFakeEdge();
  const argv = ['http', '--url', edge.url, '--upstream', 'http://127.0.0.1:9'];
  const terminal = await openTerminal(t, argv, { UNDERPASS_TOKEN: 'secret', ...env });
  const before = terminal.echoes();
  await terminal.seen((text) => framesOf(text).some((frame) => frame.includes('connected to')));
  const live = terminal.echoes();
  terminal.type('\r\r\rtyped');
  terminal.resize(40);
  await terminal.seen((text) => framesOf(text).some(isNarrow));
  terminal.type('\x03');
  const code = await terminal.ended;
  const text = terminal.text();
  const frames = framesOf(text);
  return { code, text, narrow: frames.slice(frames.findIndex(isNarrow)), echo: { before, live, after: terminal.echoes() } };
}

test('a terminal shows one block, repainted in place and cut to the width, and the cursor comes back', async (t) => {
  const { code, text, narrow } = await watched(t, {});
  assert.equal(code, 0, text);
  assert.match(text, /\x1b\[\?25l/);
  assert.match(text, /\x1b\[32mconnected to/);
  assert.ok(text.lastIndexOf('\x1b[?25h') > text.lastIndexOf('\x1b[?25l'));
  const lines = narrow
    .join('')
    .replaceAll(/\x1b\[[?0-9;]*[A-Za-z]/g, '')
    .split('\r\n');
  assert.ok(lines.length > 4, text);
  for (const line of lines) assert.ok([...line.replaceAll('\r', '')].length < 40, JSON.stringify(line));
  assert.equal(text.includes('secret'), false);
});

test('NO_COLOR turns colours off', async (t) => {
  assert.doesNotMatch((await watched(t, { NO_COLOR: '1' })).text, /\x1b\[3\dm/);
});

test('typed keys do not appear in the block, and the terminal echoes again afterwards', async (t) => {
  const { code, text, echo } = await watched(t, {});
  assert.equal(code, 0, text);
  assert.doesNotMatch(text, /typed|\^C/);
  assert.deepEqual(echo, { before: true, live: false, after: true });
});

test('a terminal that closes drains the client as Ctrl-C does', async (t) => {
  const answered = Promise.withResolvers<void>();
  await using upstream = await startUpstream((socket) => void answered.promise.then(() => socket.end('finished')));
  await using edge = await startFakeEdge();
  const argv = ['http', '--url', edge.url, '--upstream', `http://127.0.0.1:${upstream.port}`];
  const terminal = await openTerminal(t, argv, { UNDERPASS_TOKEN: 'secret' });
  const carrier = await edge.next();
  const stream = visit(carrier);
  stream.end();
  const got = outcome(stream);
  await new Promise<void>((resolve) => {
    stream.onOpened = resolve;
  });
  carrier.session.onGoaway = () => answered.resolve();
  terminal.vanish();
  assert.equal(await got, 'finished');
  assert.equal(await terminal.ended, 0);
});
