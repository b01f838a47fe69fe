// The live status in a real terminal: a pseudo-terminal that is resized and then interrupted, as a person would.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { outcome, startUpstream, visit } from '../carry/fixture/carrying.ts';
import { startFakeEdge } from '../carry/fixture/edge.ts';
import { binary } from '../test-kit.ts';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));
const command = binary === undefined ? [process.execPath, main] : [binary];

/**
 * Starts argv once the terminal has its 100 columns; at the first whole frame with "connected" types and makes it 40 wide; at the
 * first whole frame that is cut to that width presses Ctrl-C. A frame that was on its way when the width changed is still
 * a wide one, so "narrow" begins with the first that is not.
 */
const driver = `
import fcntl, json, os, pty, select, signal, struct, sys, termios, time
argv = json.loads(sys.argv[1])
ready, go = os.pipe()
pid, fd = pty.fork()
if pid == 0:
    os.read(ready, 1)
    os.execvp(argv[0], argv)
size = lambda columns: fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
size(100)
echoes = lambda: bool(termios.tcgetattr(fd)[3] & termios.ECHO)
echo = {'before': echoes()}
os.write(go, b'x')
out, seen, narrow = b'', 0, None
def frames():
    global seen
    while (end := out.find(b'\x1b[?2026l', seen)) >= 0:
        begun, seen = seen, end + 8
        yield begun, out[begun:end]
until = time.monotonic() + 60
while True:
    if not select.select([fd], [], [], max(0, until - time.monotonic()))[0] or time.monotonic() > until:
        os.kill(pid, signal.SIGKILL)
        break
    try:
        chunk = os.read(fd, 65536)
    except OSError:
        break
    if not chunk:
        break
    out += chunk
    for begun, frame in frames():
        if 'live' not in echo and b'connected to' in frame:
            echo['live'] = echoes()
            os.write(fd, b'\\r\\r\\rtyped')
            size(40)
        elif 'live' in echo and narrow is None and b'Ctrl-C' in frame and b'at once' not in frame:
            narrow = begun
            os.write(fd, b'\\x03')
_, status = os.waitpid(pid, 0)
echo['after'] = echoes()
print(json.dumps({'code': os.waitstatus_to_exitcode(status), 'text': out.decode(), 'narrow': out[narrow or 0:].decode(), 'echo': echo}))
`;

async function inTerminal(t: TestContext, env: Record<string, string>) {
  await using edge = await startFakeEdge();
  const argv = [...command, 'http', '--url', edge.url, '--upstream', 'http://127.0.0.1:9'];
  const all = { PATH: process.env.PATH, HOME: '/nonexistent', TERM: 'xterm', UNDERPASS_TOKEN: 'secret', ...env };
  const child = spawn('python3', ['-c', driver, JSON.stringify(argv)], { env: all, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk;
  return JSON.parse(text) as { code: number; text: string; narrow: string; echo: Record<'before' | 'live' | 'after', boolean> };
}

test('a terminal shows one calm block: repainted in place, cut to the width, and the cursor comes back', async (t) => {
  const { code, text, narrow } = await inTerminal(t, {});
  assert.equal(code, 0, text);
  assert.match(text, /\x1b\[\?25l/);
  assert.match(text, /\x1b\[32mconnected to/);
  assert.ok(text.lastIndexOf('\x1b[?25h') > text.lastIndexOf('\x1b[?25l'));
  const lines = narrow.replaceAll(/\x1b\[[?0-9;]*[A-Za-z]/g, '').split('\r\n');
  assert.ok(lines.length > 4, text);
  for (const line of lines) assert.ok([...line.replaceAll('\r', '')].length < 40, JSON.stringify(line));
  assert.equal(text.includes('secret'), false);
});

test('NO_COLOR takes the colours away', async (t) => {
  assert.doesNotMatch((await inTerminal(t, { NO_COLOR: '1' })).text, /\x1b\[3\dm/);
});

test('keys leave no trace in the block, and the terminal echoes again afterwards', async (t) => {
  const { code, text, echo } = await inTerminal(t, {});
  assert.equal(code, 0, text);
  assert.doesNotMatch(text, /typed|\^C/);
  assert.deepEqual(echo, { before: true, live: false, after: true });
});

/** Starts argv in a terminal, takes the terminal away when its own input ends, and prints how argv ended. */
const vanishing = `
import json, os, pty, select, sys
argv = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execvp(argv[0], argv)
while 0 not in select.select([fd, 0], [], [])[0]:
    os.read(fd, 65536)
os.close(fd)
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status))
`;

test('a terminal that vanishes ends it as Ctrl-C does: what visitors have begun is finished', async (t) => {
  const answered = Promise.withResolvers<void>();
  await using upstream = await startUpstream((socket) => void answered.promise.then(() => socket.end('finished')));
  await using edge = await startFakeEdge();
  const argv = [...command, 'http', '--url', edge.url, '--upstream', `http://127.0.0.1:${upstream.port}`];
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', TERM: 'xterm', UNDERPASS_TOKEN: 'secret' };
  const child = spawn('python3', ['-c', vanishing, JSON.stringify(argv)], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const carrier = await edge.next();
  const stream = visit(carrier);
  stream.end();
  const got = outcome(stream);
  await new Promise<void>((resolve) => {
    stream.onOpened = resolve;
  });
  carrier.session.onGoaway = () => answered.resolve();
  child.stdin.end();
  assert.equal(await got, 'finished');
  let code = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) code += chunk;
  assert.equal(code, '0\n');
});
