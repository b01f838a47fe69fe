import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { accountRoutes, binary, createCli, startFakeApi } from './test-kit.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const command = binary === undefined ? [process.execPath, main] : [binary];

async function removing(t: TestContext, typed: string) {
  const api = await startFakeApi(t, { ...accountRoutes, 'DELETE /api/tunnels/shop': { status: 204 } });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.end(typed);
  return { api, ...(await cli.run(['tunnels', 'rm', 'shop'], { io: { stdin } })) };
}

const inTerminal = { skip: binary && 'the terminal is made up' };

test('a question has a line of its own, below what is to be known', inTerminal, async (t) => {
  const { api, code, stdout, stderr } = await removing(t, 'y\n');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /This operation is permanent\.\nDelete shop\? \[y\/N\] $/);
  assert.equal(stdout, 'Deleted shop.\n');
  assert.equal(api.calls.at(-1)?.method, 'DELETE');
});

test('Ctrl-D is no, and what follows begins a line', inTerminal, async (t) => {
  const { api, code, stderr } = await removing(t, '');
  assert.equal(code, 2);
  assert.match(stderr, /\[y\/N\] \nerror: Not confirmed, nothing was changed\n/);
  assert.equal(
    api.calls.some(({ method }) => method === 'DELETE'),
    false,
  );
});

/** Starts argv in a terminal, types a line when it asks and prints what stood there. */
const driver = `
import json, os, pty, sys
argv, typed = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execvp(argv[0], argv)
out, asked = b'', False
while True:
    try:
        chunk = os.read(fd, 65536)
    except OSError:
        break
    if not chunk:
        break
    out += chunk
    if not asked and out.endswith(b': '):
        asked = True
        os.write(fd, typed.encode())
_, status = os.waitpid(pid, 0)
print(json.dumps({'code': os.waitstatus_to_exitcode(status), 'text': out.decode()}))
`;

async function typing(t: TestContext, typed: string) {
  const api = await startFakeApi(t, accountRoutes);
  const { home } = await createCli(t);
  const argv = [...command, 'login', '--with-token', '--server', api.origin];
  const env = { PATH: process.env.PATH, HOME: home, TERM: 'xterm' };
  const child = spawn('python3', ['-c', driver, JSON.stringify([argv, typed])], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk;
  return { api, ...(JSON.parse(text) as { code: number; text: string }) };
}

test('a token is asked for in a terminal, taken with Enter, and never shown', async (t) => {
  const { api, code, text } = await typing(t, 'tok-1234\r');
  assert.equal(code, 0, text);
  assert.match(text, /Token \(not shown\): \r\nSigned in to /);
  assert.equal(text.includes('tok'), false);
  assert.equal(api.calls[0]?.headers.authorization, 'Bearer tok-1234');
});

test('Ctrl-C at a token ends the command as ever', async (t) => {
  const { api, code } = await typing(t, 'tok\x03');
  assert.ok([130, -2].includes(code), String(code));
  assert.deepEqual(api.calls, []);
});
