// The inspector from the command line: a client that carries with --inspect, and commands of another terminal.
import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { constants, deflateRawSync } from 'node:zlib';
import type { Exchange, ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';
import { listen, outcome, visit } from '../carry/fixture/carrying.ts';
import { startFakeEdge } from '../carry/fixture/edge.ts';
import { createCli, type RunningCli } from '../test-kit.ts';

/** Sends one compressed message and ends. */
function speakWebSocket(_request: IncomingMessage, socket: Duplex): void {
  const message = deflateRawSync('from the upstream', { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n',
  );
  socket.end(Buffer.concat([Buffer.from([0xc1, message.length]), message, Buffer.from([0x88, 2, 0x03, 0xe8])]));
}

/** The first answer is an error; the service is mended by then. */
async function world(t: TestContext, flags: readonly string[] = ['--inspect']) {
  let started: RunningCli | undefined;
  t.after(() => {
    started?.signal('SIGTERM');
    return started?.ended;
  });
  const edge = await startFakeEdge({ info: { tunnel: 'shop' } });
  t.after(() => edge[Symbol.asyncDispose]());
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(asked++ === 0 ? 500 : 200, { 'content-type': 'application/json' }).end(`{"asked":${asked}}`);
  });
  server.on('upgrade', speakWebSocket);
  const upstream = await listen(server, 'http');
  t.after(() => upstream[Symbol.asyncDispose]());
  const cli = await createCli(t, { UNDERPASS_TOKEN: 'secret' });
  const running = cli.start(['http', '--url', edge.url, '--upstream', `http://127.0.0.1:${upstream.port}`, ...flags]);
  started = running;
  const carrier = await edge.next();
  await running.seen(/connected/);
  const send = (text: string) => {
    const stream = visit(carrier);
    const got = outcome(stream);
    const { onData } = stream;
    stream.onData = (chunk) => {
      onData(chunk);
      stream.tellTimes({ edgeMs: 1.5, totalMs: 60_000 });
      stream.end();
    };
    stream.write(Buffer.from(text));
    return got;
  };
  return { cli, running, carrier, send, home: cli.home };
}

const webhook =
  'POST /hook?a=1 HTTP/1.1\r\nHost: shop.example.com\r\nAuthorization: Bearer very-secret\r\nUser-Agent: Stripe/1.0\r\n' +
  'X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17\r\nContent-Length: 13\r\n\r\nHello, World!';

test('a failing webhook is found, replayed and exported from another terminal', async (t) => {
  const { cli, running, carrier, send } = await world(t);
  assert.match(await send(webhook), /^HTTP\/1\.1 500 /);
  assert.deepEqual(carrier.session.peerOffers, [{ key: '*', healthy: true, times: true }]);
  const found = await cli.run(['inspect', '1', '--json']);
  const exchange = JSON.parse(found.stdout) as Exchange;
  assert.deepEqual(
    [exchange.status, exchange.tunnel, exchange.visitorAddress, exchange.request.body.text, exchange.response?.body.text],
    [500, 'shop', '192.0.2.7', 'Hello, World!', '{"asked":1}'],
  );
  assert.equal(exchange.signature, 'unchecked');
  const { edgeMs, tunnelMs } = exchange.timing;
  assert.ok(edgeMs === 1.5 && tunnelMs! > 50_000 && tunnelMs! < 60_000, JSON.stringify(exchange.timing));
  assert.equal(found.stdout.includes('very-secret'), false);
  assert.match((await cli.run(['inspect', '#1', '--reveal'])).stdout, /Authorization: Bearer very-secret/);
  assert.match((await cli.run(['inspect', '1', '--curl'])).stdout, /--data-raw 'Hello, World!'/);
  const replayed = await cli.run(['replay', '1']);
  assert.equal(replayed.code, 0, replayed.stderr);
  assert.match(replayed.stdout, /replay of #1.*HTTP\/1\.1 200 OK.*\{"asked":2\}/s);
  assert.equal(JSON.parse((await cli.run(['inspect', '--har'])).stdout).log.entries.length, 2);
  const missing = await cli.run(['inspect', '77']);
  assert.equal(missing.code, 6, missing.stderr);
  assert.match(missing.stderr, /fix: Run "underpass inspect"/);
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('inspect prints the frames of a WebSocket, inflated', async (t) => {
  const { cli, send } = await world(t);
  await send('GET /ws HTTP/1.1\r\nHost: shop.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  const { stdout } = await cli.run(['inspect', '1']);
  assert.match(stdout, / s {2}upstream {2}text {4}from the upstream\n.* s {2}upstream {2}close 1000$/m);
  const { frames } = JSON.parse((await cli.run(['inspect', '1', '--json'])).stdout) as Exchange;
  assert.deepEqual(
    frames.map(({ kind, text }) => [kind, text]),
    [
      ['text', 'from the upstream'],
      ['close', ''],
    ],
  );
});

test('inspect --json prints a line for each request, those before and those that come, and ends with the client', async (t) => {
  const { cli, running, send } = await world(t);
  await send(webhook);
  const following = cli.start(['inspect', '--json']);
  await following.seen(/"id":1/);
  await send(webhook.replace('POST', 'PUT'));
  await following.seen(/"id":2/);
  running.signal('SIGTERM');
  const { code, stdout } = await following.ended;
  assert.equal(code, 0);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ExchangeSummary);
  assert.deepEqual(
    rows.map(({ id, method, status }) => [id, method, status]),
    [
      [1, 'POST', 500],
      [2, 'PUT', 200],
    ],
  );
});

test('the token is in one private file while the client runs, and in nothing that it prints', async (t) => {
  const { cli, running, home } = await world(t);
  const folder = join(home, '.config', 'underpass', 'inspect');
  const [name, ...others] = await readdir(folder);
  assert.deepEqual(others, []);
  const { token, port } = JSON.parse(await readFile(join(folder, name!), 'utf8')) as { token: string; port: number };
  if (process.platform !== 'win32') assert.equal((await stat(join(folder, name!))).mode & 0o777, 0o600);
  await running.seen(new RegExp(`127\\.0\\.0\\.1:${port}/ `));
  assert.equal(`${running.stdout()}${running.stderr()}`.includes(token), false);
  running.signal('SIGTERM');
  await running.ended;
  assert.deepEqual(await readdir(folder), []);
  const gone = await cli.run(['inspect', '1']);
  assert.deepEqual([gone.code, /--inspect/.test(gone.stderr)], [6, true]);
});

test('a signature is checked with a secret from a file', async (t) => {
  const cli = await createCli(t);
  const file = join(cli.home, 'secrets');
  await writeFile(file, "It's a Secret to Everybody\n");
  const { send, cli: other } = await world(t, ['--inspect', '--webhook-secret-file', file]);
  await send(webhook);
  const { signatureCheck } = JSON.parse((await other.run(['inspect', '1', '--json'])).stdout) as Exchange;
  assert.deepEqual([signatureCheck?.scheme, signatureCheck?.outcome], ['github', 'valid']);
});

test('a health address that is taken ends the client with its inspector', async (t) => {
  const { cli, running, home } = await world(t, ['--inspect', '--health', '127.0.0.1:0']);
  await running.seen(/health: http/);
  const taken = /health: http:\/\/([\d.:]+)/.exec(running.stderr())![1]!;
  const http = ['http', '--url', 'https://e.example.com', '--upstream', 'http://127.0.0.1:1', '--inspect', '--health', taken];
  assert.equal((await cli.run(http)).code, 3);
  assert.equal((await readdir(join(home, '.config', 'underpass', 'inspect'))).length, 1);
});

test('options that cannot work are refused', async (t) => {
  const cli = await createCli(t, { UNDERPASS_TOKEN: 'secret' });
  const http = ['http', '--url', 'https://e.example.com', '--upstream', 'http://127.0.0.1:1'];
  for (const [argv, why] of [
    [[...http, '--webhook-secret-file', 'x'], /is for --inspect/],
    [[...http, '--inspect', '--webhook-secret-file', '/missing'], /\/missing \(no such file\)/],
    [[...http, '--inspect-port', '70000'], /from 1 to 65535/],
    [[...http, '--inspect-port', '4045'], /Browsers refuse to open port 4045: choose another one/],
    [['ingress', '--url', 'https://e.example.com', '--upstream', '127.0.0.1', '--inspect'], /is for http tunnels/],
    [['replay', 'x'], /not the number of a request|No client/],
  ] as const) {
    const { code, stderr } = await cli.run(argv);
    assert.ok(code !== 0);
    assert.match(stderr, why);
  }
});
