import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { type TestContext, test } from 'node:test';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { outcome, startUpstream, visit } from '../carry/fixture/carrying.ts';
import { type FakeCarrier, type FakeEdgeOptions, startFakeEdge } from '../carry/fixture/edge.ts';
import { binary, createCli } from '../test-kit.ts';

async function world(t: TestContext, options: FakeEdgeOptions = {}) {
  const edge = await startFakeEdge(options);
  t.after(() => edge[Symbol.asyncDispose]());
  const upstream = await startUpstream((socket) => socket.end('from the upstream'));
  t.after(() => upstream[Symbol.asyncDispose]());
  const cli = await createCli(t, { UNDERPASS_TOKEN: 'secret' });
  return { edge, upstream, cli, http: `http://127.0.0.1:${upstream.port}` };
}

/** A visitor that sends nothing and waits for the answer. */
function ask(carrier: FakeCarrier, request: Parameters<typeof visit>[1] = {}): Promise<string> {
  const stream = visit(carrier, request);
  stream.end();
  return outcome(stream);
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  test(`http carries a visitor to the upstream, and ${signal} drains it to exit code 0`, async (t) => {
    const { edge, cli, http } = await world(t);
    const running = cli.start(['http', '--url', edge.url, '--upstream', http]);
    const carrier = await edge.next();
    await running.seen(/connected/);
    assert.equal(await ask(carrier), 'from the upstream');
    running.signal(signal);
    const { code, stdout, stderr } = await running.ended;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /edge\.localhost connected edge=edge-1/);
    assert.match(stdout, /edge\.localhost stopped$/m);
    assert.equal(stdout.includes('secret'), false);
  });
}

test('ingress carries both ports to one host', async (t) => {
  const { edge, cli, upstream } = await world(t);
  const port = `127.0.0.1:${upstream.port}`;
  const running = cli.start(['ingress', '--url', edge.url, '--upstream', `80=${port}`, '--upstream', `443=${port}`]);
  const carrier = await edge.next();
  assert.equal(await ask(carrier, { kind: 'ingress-80' }), 'from the upstream');
  assert.equal(await ask(carrier, { kind: 'ingress-443' }), 'from the upstream');
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('draining lets an open stream end, and accepts nothing new', async (t) => {
  const { edge, cli } = await world(t);
  const echo = await startUpstream((socket) => socket.on('data', (chunk) => socket.end(chunk)));
  t.after(() => echo[Symbol.asyncDispose]());
  const running = cli.start(['http', '--url', edge.url, '--upstream', `http://127.0.0.1:${echo.port}`]);
  const stream = visit(await edge.next());
  await new Promise<void>((resolve) => {
    stream.onOpened = resolve;
  });
  running.signal('SIGTERM');
  await running.seen(/draining/);
  const got = outcome(stream);
  stream.write(Buffer.from('late but whole'));
  stream.end();
  assert.equal(await got, 'late but whole');
  assert.equal((await running.ended).code, 0);
});

test('the memory of a crowd of streams that has gone is collected', { skip: binary && 'another collector' }, async (t) => {
  const { edge, cli, http } = await world(t);
  const running = cli.start(['http', '--url', edge.url, '--upstream', http]);
  const carrier = await edge.next();
  const collected = new Promise<void>((resolve) => {
    const observer = new PerformanceObserver((list) => {
      // Matches what runtime/heap.ts collects. V8 itself collects so only before it runs out of memory.
      const isForced = (entry: PerformanceEntry) =>
        ((entry as PerformanceEntry & { detail: { flags: number } }).detail.flags &
          constants.NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE) !==
        0;
      if (list.getEntries().some(isForced)) resolve();
    });
    observer.observe({ entryTypes: ['gc'] });
    t.after(() => observer.disconnect());
  });
  for (let streams = 0; streams < 2_100; streams += 50) await Promise.all(Array.from({ length: 50 }, () => ask(carrier)));
  await collected;
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('a second signal ends at once with exit code 130', async (t) => {
  const { edge, cli } = await world(t);
  const stuck = await startUpstream(() => {});
  t.after(() => stuck[Symbol.asyncDispose]());
  const running = cli.start(['http', '--url', edge.url, '--upstream', `http://127.0.0.1:${stuck.port}`]);
  const stream = visit(await edge.next());
  await new Promise<void>((resolve) => {
    stream.onOpened = resolve;
  });
  running.signal('SIGINT');
  await running.seen(/draining/);
  running.signal('SIGINT');
  assert.equal((await running.ended).code, 130);
});

test('with --json each line is JSON, and a problem has its code and fix', async (t) => {
  const { edge, cli, http } = await world(t, { token: 'another' });
  const running = cli.start(['http', '--url', edge.url, '--upstream', http, '--json']);
  await running.seen(/token-refused/);
  running.signal('SIGTERM');
  const { stdout } = await running.ended;
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const problem = events.find(({ event }) => event === 'problem');
  assert.equal(problem.code, 'token-refused');
  assert.match(problem.text, /copy it again from the Connect section/);
});

test('the log shows the addresses of the tunnel, and reports a misspelt domain', async (t) => {
  const urls = ['https://shop.example.com', 'https://www.example.com'];
  const { edge, cli, http } = await world(t, { info: { tunnel: 'shop', urls } });
  const running = cli.start(['http', '--url', edge.url, '--upstream', http, '--upstream', `shpo.example.com=${http}`]);
  await running.seen(/no-visitors/);
  running.signal('SIGTERM');
  const { stdout } = await running.ended;
  assert.match(
    stdout,
    /Z shop connected edge=edge-1 address=127\.0\.0\.1 urls=https:\/\/shop\.example\.com,https:\/\/www\.example\.com$/m,
  );
  assert.match(stdout, /Z shop stopped$/m);
  const text =
    'A domain in --upstream gets no visitors: shpo.example.com; the tunnel has shop.example.com, www.example.com. ' +
    'Correct it, or add the domain to the tunnel and verify it.';
  assert.deepEqual(stdout.match(/ problem .*/g), [` problem code=no-visitors: ${text}`]);
});

test('the token is read from a file, from standard input or from the environment', async (t) => {
  const { edge, cli, http } = await world(t);
  const path = join(cli.home, 'shop.token');
  await writeFile(path, 'secret\n', { mode: 0o600 });
  const env = { UNDERPASS_TOKEN: '' };
  for (const [source, stdin] of [
    [path, ''],
    ['-', 'secret\n'],
  ] as const) {
    const running = cli.start(['http', '--url', edge.url, '--upstream', http, '--token-file', source], { env, stdin });
    await running.seen(/connected/);
    running.signal('SIGTERM');
    const { stderr } = await running.ended;
    assert.equal(stderr, '');
  }
});

test('warns about a token file that other users may read, with the fix', async (t) => {
  const { edge, cli, http } = await world(t);
  const path = join(cli.home, 'my shop.token');
  await writeFile(path, 'secret\n');
  await chmod(path, 0o644);
  const running = cli.start(['http', '--url', edge.url, '--upstream', http, '--token-file', path]);
  await running.seen(/connected/);
  running.signal('SIGTERM');
  assert.match(
    (await running.ended).stderr,
    /^warning: other users of this machine may read .*: run "chmod 600 '.*\/my shop\.token'"$/m,
  );
});

const url = 'https://edge.localhost:1';
const wrongUse: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['no token', ['http', '--url', url, '--upstream', 'http://127.0.0.1:1'], /code: token-missing/],
  [
    'a token of two words',
    ['http', '--url', url, '--upstream', 'http://127.0.0.1:1', '--token-file', '-'],
    /code: token-malformed/,
  ],
  [
    'a token on the command line',
    ['http', '--url', url, '--upstream', 'http://127.0.0.1:1', '--token', 'secret'],
    /unknown option '--token'/,
  ],
  ['an unknown option, before a missing one,', ['http', '--bogus'], /unknown option '--bogus'/],
  ['no url', ['http', '--upstream', 'http://127.0.0.1:1'], /required option '--url <url>' not specified/],
  ['no upstream', ['http', '--url', url, '--token-file', '-'], /required option '--upstream <upstream>' not specified/],
  ['an upstream of another kind', ['http', '--url', url, '--upstream', '80=127.0.0.1:80'], /code: usage/],
  [
    'two upstreams for one domain',
    ['http', '--url', url, '--upstream', 'a.example.com=http://b', '--upstream', 'a.example.com=http://c'],
    /Two upstreams for a\.example\.com/,
  ],
  [
    'a port that is not passed through',
    ['ingress', '--url', url, '--upstream', '22=127.0.0.1:22'],
    /Ingress port must be 80 or 443/,
  ],
  ['a url without TLS', ['http', '--url', 'http://edge.localhost', '--upstream', 'http://a'], /not the URL of a tunnel/],
  ['a pin that is not a hash', ['http', '--url', `${url}#ca=12`, '--upstream', 'http://a'], /not the URL of a tunnel/],
];
for (const [name, argv, message] of wrongUse) {
  test(`refuses ${name} with exit code 2`, async (t) => {
    const cli = await createCli(t);
    const { code, stderr } = await cli.run(argv, { stdin: 'two words\n' });
    assert.match(stderr, message);
    assert.equal(code, 2);
  });
}

test('ingress does not show the options for https upstreams, but accepts them', async (t) => {
  const cli = await createCli(t);
  assert.match((await cli.run(['http', '--help'])).stdout, /--upstream-ca[\s\S]*--upstream-insecure/);
  assert.doesNotMatch((await cli.run(['ingress', '--help'])).stdout, /--upstream-(ca|insecure)/);
  const { stderr } = await cli.run(['ingress', '--url', url, '--upstream', 'a', '--upstream-insecure']);
  assert.match(stderr, /code: token-missing/);
});

test('the error for a missing token or CA file names the file', async (t) => {
  const cli = await createCli(t);
  const token = await cli.run(['http', '--url', url, '--upstream', 'http://a', '--token-file', 'none']);
  assert.match(token.stderr, /code: token-file-unreadable/);
  const ca = await cli.run(['http', '--url', url, '--upstream', 'http://a', '--token-file', '-', '--ca', 'none'], {
    stdin: 'secret',
  });
  assert.match(ca.stderr, /code: ca-file-invalid/);
  assert.equal(ca.code, 3);
});

test('the error for an unreadable file says why, without repeating the path', async (t) => {
  const { cli } = await world(t);
  const url = 'https://eu1.example.com';
  for (const [argv, words] of [
    [['check', '-c', 'none.yaml'], /\/none\.yaml \(no such file\)$/m],
    [['check', '-c', '.'], /\(it is a folder\)$/m],
    [['http', '--url', url, '--upstream', 'http://a', '--token-file', 'none'], /cannot be read: none \(no such file\)$/m],
    [['http', '--url', url, '--upstream', 'http://a', '--ca', 'none'], /\/none \(no such file\)$/m],
  ] as const) {
    assert.match((await cli.run(argv)).stderr, words);
  }
});

test('reads at most the allowed size of an endless file', { timeout: 60_000 }, async (t) => {
  const { cli } = await world(t);
  const http = ['http', '--url', 'https://eu1.example.com', '--upstream', 'http://a'];
  for (const [argv, words] of [
    [[...http, '--token-file', '/dev/zero'], /cannot be read: \/dev\/zero \(more than 4098 bytes\)$/m],
    [[...http, '--ca', '/dev/zero'], /\/dev\/zero \(more than 4194304 bytes\)$/m],
    [['check', '-c', '/dev/zero'], /\/dev\/zero \(more than 1048576 bytes\)$/m],
  ] as const) {
    assert.match((await cli.run(argv)).stderr, words);
  }
});

test('the error for a malformed proxy is one line with its fix, without the password', async (t) => {
  const cli = await createCli(t, { HTTPS_PROXY: 'ftp://user:hunter2@proxy', UNDERPASS_TOKEN: 'secret' });
  const { code, stderr } = await cli.run(['http', '--url', 'https://edge.example.com', '--upstream', 'http://a']);
  assert.equal(code, 8);
  assert.match(stderr, /HTTPS_PROXY is not a proxy URL/);
  assert.equal(stderr.includes('hunter2'), false);
});

test('--health ends with a tunnel that cannot start', async (t) => {
  const { cli } = await world(t);
  const argv = ['http', '--url', 'https://eu1.example.com', '--upstream', 'http://127.0.0.1:1', '--health', '127.0.0.1:0'];
  const { code, stderr } = await cli.run(argv, { env: { HTTPS_PROXY: 'ftp://proxy.example' } });
  assert.match(stderr, /HTTPS_PROXY is not a proxy URL/);
  assert.equal(code, 8);
  const [address = ''] = /http:\S+/.exec(stderr) ?? [];
  await assert.rejects(fetch(address), /fetch failed/);
});

test('--health answers while the tunnel runs', async (t) => {
  const { edge, cli, http } = await world(t);
  const running = cli.start(['http', '--url', edge.url, '--upstream', http, '--health', '127.0.0.1:0']);
  await running.seen(/connected/);
  const [address] = /http:\/\/[\d.:]+\/readyz/.exec(running.stderr()) ?? [];
  const answer = await fetch(address ?? '');
  assert.equal(answer.status, 200);
  const { ready, tunnels } = (await answer.json()) as { ready: boolean; tunnels: readonly { edges: number }[] };
  assert.equal(ready, true);
  assert.equal(tunnels[0]?.edges, 1, 'two carriers, one edge');
  running.signal('SIGTERM');
  await running.ended;
});

test('run carries and inspects every tunnel of the file, and SIGHUP keeps tunnels that did not change', async (t) => {
  const { edge, cli, http } = await world(t);
  const file = join(cli.home, 'underpass.yaml');
  const tunnel = (name: string) =>
    `  - {name: ${name}, type: http, url: '${edge.url}', token-env: UNDERPASS_TOKEN, upstream: '${http}'}\n`;
  await writeFile(file, `tunnels:\n${tunnel('one')}${tunnel('two')}`);
  const running = cli.start(['run', '-c', 'underpass.yaml', '--inspect']);
  const carriers = [await edge.next(), await edge.next(), await edge.next(), await edge.next()];
  assert.equal(new Set(carriers.map(({ clientId }) => clientId)).size, 2);
  await running.seen(/one connected/);
  await running.seen(/two connected/);
  for (const carrier of carriers) {
    const stream = visit(carrier);
    stream.write(Buffer.from('GET / HTTP/1.1\r\nHost: shop.example.com\r\n\r\n'));
    stream.end();
    await outcome(stream);
  }
  const inspected = carriers.map(async (_, at) => JSON.parse((await cli.run(['inspect', `${at + 1}`, '--json'])).stdout).tunnel);
  assert.deepEqual((await Promise.all(inspected)).sort(), ['one', 'one', 'two', 'two']);
  await writeFile(file, `tunnels:\n${tunnel('two')}${tunnel('three')}`);
  running.signal('SIGHUP');
  await running.seen(/reloaded: started three; stopped one; kept two/);
  await running.seen(/three connected/);
  await running.seen(/one stopped/);
  assert.doesNotMatch(running.stdout(), /two disconnected/);
  await writeFile(file, 'tunnels: [');
  running.signal('SIGHUP');
  await running.seen(/not reloaded, the tunnels are unchanged/);
  assert.doesNotMatch(running.stdout(), /two (disconnected|draining)/);
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('a reload that ends after the signal to stop starts nothing', async (t) => {
  const { edge, cli } = await world(t);
  const echo = await startUpstream((socket) => socket.on('data', (chunk) => socket.end(chunk)));
  t.after(() => echo[Symbol.asyncDispose]());
  const file = join(cli.home, 'underpass.yaml');
  const config = (name: string) =>
    `tunnels:\n  - {name: ${name}, type: http, url: '${edge.url}', token-env: UNDERPASS_TOKEN, upstream: 'http://127.0.0.1:${echo.port}'}\n`;
  await writeFile(file, config('one'));
  const running = cli.start(['run', '-c', 'underpass.yaml']);
  const stream = visit(await edge.next());
  await new Promise<void>((resolve) => {
    stream.onOpened = resolve;
  });
  // A named pipe opens when both ends are open, and its reader waits until the writer closes it.
  await rm(file);
  execFileSync('mkfifo', [file]);
  running.signal('SIGHUP');
  const pipe = await open(file, 'w');
  running.signal('SIGTERM');
  await running.seen(/one draining/);
  await pipe.writeFile(config('two'));
  await pipe.close();
  const got = outcome(stream);
  stream.write(Buffer.from('late but whole'));
  stream.end();
  assert.equal(await got, 'late but whole');
  const { code, stdout } = await running.ended;
  assert.equal(code, 0);
  assert.match(stdout, /one stopped/);
  assert.doesNotMatch(stdout, /two|reloaded/);
});

test('check names every wrong line, and lists the tunnels of a valid file', async (t) => {
  const cli = await createCli(t, { T: 'secret' });
  await writeFile(join(cli.home, 'underpass.yaml'), 'tunels: 1\n');
  const wrong = await cli.run(['check']);
  assert.equal(wrong.code, 3);
  assert.match(wrong.stderr, /underpass\.yaml:1: unknown key 'tunels'/);
  const right = join(cli.home, 'right.yaml');
  await writeFile(right, `tunnels:\n  - {name: a, type: ingress, url: '${url}', token-env: T, upstream: 10.0.0.1}\n`);
  const { code, stdout } = await cli.run(['check', '-c', right]);
  assert.equal(code, 0);
  assert.match(stdout, /right\.yaml is valid: 1 tunnel\.$/m);
  assert.match(stdout, /a \(ingress\): port 80 → 10\.0\.0\.1:80, port 443 → 10\.0\.0\.1:443/);
  const missing = await cli.run(['check', '-c', right], { env: { T: '' } });
  assert.match(missing.stderr, /tunnel a: environment variable T\n {2}fix: Set T /);
  assert.equal((await cli.run(['check', '-c', 'none.yaml'])).code, 3);
});

test('refuses a CA file without a valid certificate before the tunnel starts', async (t) => {
  const cli = await createCli(t, { T: 'secret' });
  const tunnel = `tunnels:\n  - {name: a, type: http, url: '${url}', token-env: T, upstream: https://a, upstream-ca: ca.pem}\n`;
  await writeFile(join(cli.home, 'underpass.yaml'), tunnel);
  const { certificatePem } = await createTestAuthority();
  for (const [pem, code] of [
    ['-----BEGIN CERTIFICATE-----\nhello\n-----END CERTIFICATE-----\n', 3],
    [certificatePem.slice(0, 200), 3],
    [`\ufeff# ours\r\n${certificatePem.replaceAll('\n', '\r\n')}`, 0],
  ] as const) {
    await writeFile(join(cli.home, 'ca.pem'), pem);
    const checked = await cli.run(['check']);
    assert.equal(checked.code, code, checked.stderr);
    if (code !== 0) assert.match(checked.stderr, /code: ca-file-invalid/);
  }
});

test('the error for a file that is not a configuration fits on a screen', async (t) => {
  const cli = await createCli(t);
  await writeFile(join(cli.home, 'underpass.yaml'), `${'}'.repeat(1_000)}\n`.repeat(50));
  const { stderr } = await cli.run(['check']);
  assert.match(stderr, /^ {2}and \d+ more$/m);
  assert.ok(stderr.length < 10_000, `${stderr.length}`);
});

/** Only the compiled program is a separate process here. */
const compiled =
  process.platform === 'linux' && process.env.UNDERPASS_TEST_BINARY !== undefined ? test : (..._unused: unknown[]): void => {};

compiled('nothing of the token is in the arguments or the environment that others can see', async (t: TestContext) => {
  const { edge, cli, http } = await world(t);
  const path = join(cli.home, 'shop.token');
  await writeFile(path, 'secret\n', { mode: 0o600 });
  const running = cli.start(['http', '--url', edge.url, '--upstream', http, '--token-file', path], {
    env: { UNDERPASS_TOKEN: '' },
  });
  await running.seen(/connected/);
  assert.equal((await readFile(`/proc/${running.pid}/cmdline`, 'utf8')).includes('secret'), false);
  running.signal('SIGTERM');
  await running.ended;
});
