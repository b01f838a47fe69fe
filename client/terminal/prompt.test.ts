import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { openTerminal } from '../fixture/terminal.ts';
import { accountRoutes, binary, createCli, startFakeApi } from '../test-kit.ts';

async function removing(t: TestContext, typed: string) {
  const api = await startFakeApi(t, { ...accountRoutes, 'DELETE /api/tunnels/shop': { status: 204 } });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.end(typed);
  return { api, ...(await cli.run(['tunnels', 'rm', 'shop'], { io: { stdin } })) };
}

const inTerminal = { skip: binary && 'the terminal is made up' };

test('a question has its own line, below the warning', inTerminal, async (t) => {
  const { api, code, stdout, stderr } = await removing(t, 'y\n');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /This operation is permanent\.\nDelete shop\? \[y\/N\] $/);
  assert.equal(stdout, 'Deleted shop.\n');
  assert.equal(api.calls.at(-1)?.method, 'DELETE');
});

test('Ctrl-D means no, and the next output begins a line', inTerminal, async (t) => {
  const { api, code, stderr } = await removing(t, '');
  assert.equal(code, 2);
  assert.match(stderr, /\[y\/N\] \nerror: Not confirmed, nothing was changed\n/);
  assert.equal(
    api.calls.some(({ method }) => method === 'DELETE'),
    false,
  );
});

async function typing(t: TestContext, typed: string) {
  const api = await startFakeApi(t, accountRoutes);
  const { home } = await createCli(t);
  const terminal = await openTerminal(t, ['login', '--with-token', '--server', api.origin], { HOME: home });
  await terminal.seen((text) => text.endsWith(': '));
  terminal.type(typed);
  return { api, code: await terminal.ended, text: terminal.text() };
}

test('a terminal asks for the token, reads it until Enter, and never shows it', async (t) => {
  const { api, code, text } = await typing(t, 'tok-1234\r');
  assert.equal(code, 0, text);
  assert.match(text, /Token \(not shown\): \r\nSigned in to /);
  assert.equal(text.includes('tok'), false);
  assert.equal(api.calls[0]?.headers.authorization, 'Bearer tok-1234');
});

test('Ctrl-C ends the command while it asks for a token', async (t) => {
  const { api, code } = await typing(t, 'tok\x03');
  assert.ok([130, -2].includes(code), String(code));
  assert.deepEqual(api.calls, []);
});
