// A file that nobody named: `run` finds it in the current folder, where a stranger may have put it.
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { startFakeEdge } from '../carry/fixture/edge.ts';
import { openTerminal } from '../fixture/terminal.ts';
import { accountRoutes, binary, type CliOptions, createCli, startFakeApi } from '../test-kit.ts';

const inTerminal = { skip: binary && 'the terminal is made up' };

/** A clone with a file that leads this user's secret to a server of its author. */
async function clone(t: TestContext) {
  const edge = await startFakeEdge();
  t.after(() => edge[Symbol.asyncDispose]());
  const cli = await createCli(t, { API_SECRET: 'secret' });
  const folder = join(cli.home, 'clone');
  await mkdir(folder);
  const file = join(folder, 'underpass.yaml');
  const write = (secret: string, name = 'shop') =>
    writeFile(file, `tunnels:\n  - {name: ${name}, type: http, url: '${edge.url}', ${secret}, upstream: 'http://127.0.0.1:9'}\n`);
  await write('token-env: API_SECRET');
  const typing = (typed: string): CliOptions => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    stdin.end(typed);
    return { cwd: folder, io: { stdin } };
  };
  return { edge, cli, folder, file, write, typing };
}

type World = Awaited<ReturnType<typeof clone>>;

/** Confirms the file, if `options` say so, until the tunnel is connected. */
async function carried({ cli }: World, options: CliOptions): Promise<string> {
  const running = cli.start(['run'], options);
  await running.seen(/ connected /);
  running.signal('SIGTERM');
  const { code, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  return stderr;
}

/** What a client that should not start says, and that it has not connected. */
async function refused({ cli, edge }: World, options: CliOptions): Promise<string> {
  const before = edge.carriers.length;
  const running = cli.start(['run'], options);
  // A client that does connect runs on.
  void running.seen(/ connected /).then(
    () => running.signal('SIGTERM'),
    () => {},
  );
  const { code, stderr } = await running.ended;
  assert.equal(code, 2, stderr);
  assert.equal(edge.carriers.length, before);
  return stderr;
}

test('run refuses the file of the current folder without a terminal, and --config accepts it', async (t) => {
  const world = await clone(t);
  const stderr = await refused(world, { cwd: world.folder });
  assert.match(stderr, /^error: Confirmation is needed, .*\/clone\/underpass\.yaml comes from the current folder$/m);
  assert.match(stderr, /name it with --config underpass\.yaml/);
  const running = world.cli.start(['run', '--config', 'underpass.yaml'], { cwd: world.folder });
  await running.seen(/ connected /);
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0);
  await refused(world, { cwd: world.folder });
});

test('run carries the file of the config folder without a question', async (t) => {
  const world = await clone(t);
  const home = join(world.cli.home, '.config', 'underpass');
  await mkdir(home, { recursive: true });
  await writeFile(join(home, 'underpass.yaml'), await readFile(world.file));
  assert.equal(await carried(world, {}), '');
  assert.equal(await carried(world, { cwd: home }), '');
});

test('in a terminal run shows tunnels, servers, secrets and upstreams, and remembers a yes', inTerminal, async (t) => {
  const world = await clone(t);
  assert.match(await refused(world, world.typing('n\n')), /Not confirmed, nothing was changed/);
  assert.match(await refused(world, world.typing('')), /Not confirmed/);
  const shown = await carried(world, world.typing('y\n'));
  assert.match(shown, /shop \(http\)\n {4}server: edge\.localhost:\d+, token: environment variable API_SECRET\n/);
  assert.match(shown, /all domains → http:\/\/127\.0\.0\.1:9\n/);
  assert.match(shown, /Carry this tunnel\? \[y\/N\] $/);
  assert.equal(await carried(world, { cwd: world.folder }), '', 'remembered, so no terminal is needed');
  const kept = join(world.cli.home, '.config', 'underpass', 'confirmed-files.json');
  assert.equal((await stat(kept)).mode & 0o777, 0o600);
  assert.equal((await readFile(kept, 'utf8')).includes('secret'), false);
});

test('a confirmation ends with a change of the file, another folder, or a damaged memory', inTerminal, async (t) => {
  const world = await clone(t);
  await carried(world, world.typing('y\n'));
  const other = join(world.cli.home, 'other');
  await mkdir(other);
  await writeFile(join(other, 'underpass.yaml'), await readFile(world.file));
  await refused(world, { cwd: other });
  await world.write('token-env: API_SECRET', 'shop2');
  await refused(world, { cwd: world.folder });
  await carried(world, world.typing('y\n'));
  await writeFile(join(world.cli.home, '.config', 'underpass', 'confirmed-files.json'), '{');
  await refused(world, { cwd: world.folder });
});

test('a token file that is a link is shown as what it leads to, and asks again when that changes', inTerminal, async (t) => {
  const world = await clone(t);
  const secret = join(world.cli.home, 'other.token');
  await writeFile(secret, 'secret\n', { mode: 0o600 });
  await writeFile(join(world.folder, 'shop.token'), 'secret\n', { mode: 0o600 });
  await world.write('token-file: link');
  await symlink('shop.token', join(world.folder, 'link'));
  await carried(world, world.typing('y\n'));
  await rm(join(world.folder, 'link'));
  await symlink(secret, join(world.folder, 'link'));
  await refused(world, { cwd: world.folder });
  const shown = await refused(world, world.typing('n\n'));
  assert.match(shown, /token: file \S+\/other\.token\n/);
});

test('a name cannot write lines of its own into the question', inTerminal, async (t) => {
  const world = await clone(t);
  await world.write('token-env: API_SECRET', '"shop\\n  harmless (http)\\e[2J"');
  assert.match(await refused(world, world.typing('n\n')), /^ {2}shop {3}harmless \(http\)\ufffd\[2J \(http\)$/m);
});

test('the question names what the file trusts, and a file too long to show is refused', inTerminal, async (t) => {
  const world = await clone(t);
  await world.write('token-env: API_SECRET, ca: ca.pem, upstream-ca: /up.pem, upstream-insecure: true');
  const shown = await refused(world, world.typing('n\n'));
  assert.match(shown, /\n {4}trusts the certificates in \S+\/clone\/ca\.pem for its server\n {4}all domains → .*\n/);
  assert.match(
    shown,
    /\n {4}trusts the certificates in \/up\.pem for its upstreams\n {4}accepts any certificate of its upstreams\n/,
  );
  const many = Array.from({ length: 200 }, (_, at) => `  - {name: a${at}, type: http, upstream: 3000}\n`);
  await writeFile(world.file, `tunnels:\n${many.join('')}`);
  assert.match(await refused(world, world.typing('y\n')), /underpass\.yaml is too long to show here\n {2}fix: Read it\./);
});

test('the question names the key of a private tunnel, which its author may have', inTerminal, async (t) => {
  const world = await clone(t);
  const start = 'tunnels:\n  - {name: box, type: tcp, upstream: 22, private: true';
  await writeFile(world.file, `${start}, tickets-only: true, key-file: box.pem}\n`);
  const shown = await refused(world, world.typing('n\n'));
  assert.match(shown, /\n {4}private: only for tickets made with the key in \S+\/clone\/box\.pem\n/);
  await writeFile(world.file, `${start}}\n`);
  assert.match(await refused(world, world.typing('n\n')), /\n {4}private: for members and tickets, with your key\n/);
});

test('a token file is read where its link led when the user confirmed it', inTerminal, async (t) => {
  const world = await clone(t);
  await writeFile(join(world.folder, 'shop.token'), 'secret\n', { mode: 0o600 });
  await symlink('shop.token', join(world.folder, 'link'));
  await world.write('token-file: link');
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const running = world.cli.start(['run'], { cwd: world.folder, io: { stdin } });
  await running.seen(/\[y\/N\] $/);
  await rm(join(world.folder, 'link'));
  await symlink('/nonexistent/other.token', join(world.folder, 'link'));
  stdin.end('y\n');
  await running.seen(/ connected /);
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0, running.stderr());
});

test('a reload does not take over a file that changed after it was confirmed', inTerminal, async (t) => {
  const world = await clone(t);
  const running = world.cli.start(['run'], world.typing('y\n'));
  await running.seen(/ connected /);
  running.signal('SIGHUP');
  await running.seen(/reloaded: started none; stopped none; kept shop/);
  await world.write('token-env: API_SECRET', 'shop2');
  running.signal('SIGHUP');
  await running.seen(/not reloaded, the tunnels are unchanged: .*underpass\.yaml has changed since it was confirmed/);
  running.signal('SIGTERM');
  const { stdout } = await running.ended;
  assert.doesNotMatch(stdout, /shop2/);
});

const byName = 'tunnels:\n  - {name: shop, type: http, upstream: 3000}\n';

test('an entry without URL and token is carried as the tunnel of that name in the account', async (t) => {
  const { edge, cli, file } = await clone(t);
  const shop = { name: 'shop', type: 'http', url: edge.url, token: 'secret', status: 'Created', ingressDomains: [] };
  const { origin, calls } = await startFakeApi(t, { ...accountRoutes, 'GET /api/tunnels/shop': { body: shop } });
  const env = { UNDERPASS_API_TOKEN: 'tok' };
  await writeFile(file, byName);
  const running = cli.start(['run', '-c', file, '--server', origin], { env });
  await running.seen(/shop connected/);
  running.signal('SIGHUP');
  await running.seen(/reloaded: started none; stopped none; kept shop/);
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0);
  await writeFile(file, byName.replace('http, upstream: 3000', 'ingress, upstream: 10.0.0.5'));
  const { code, stderr } = await cli.run(['run', '-c', file, '--server', origin], { env });
  assert.match(stderr, /tunnel shop is of type http, not ingress\n {2}fix: Write "type: http"/);
  assert.equal(code, 3);
  const before = calls.length;
  assert.match((await cli.run(['check', '-c', file])).stdout, /shop \(ingress\): port 80/);
  assert.equal(calls.length, before, 'check asks no server');
  assert.match((await cli.run(['run', '-c', file, '--server', origin])).stderr, /code: not-signed-in/);
});

test('a file of names alone asks too: it opens services of this machine', inTerminal, async (t) => {
  const world = await clone(t);
  await writeFile(world.file, byName);
  assert.match(await refused(world, world.typing('n\n')), /your tunnel of this name, at the server that you are signed in to/);
});

test('after the question a real terminal shows the live status, without what is typed, until Ctrl-C', async (t) => {
  const { cli, edge, folder } = await clone(t);
  const terminal = await openTerminal(t, ['run'], { HOME: cli.home, API_SECRET: 'secret' }, folder);
  await terminal.seen((text) => text.endsWith('[y/N] '));
  assert.equal(edge.carriers.length, 0);
  terminal.type('y\r');
  await terminal.seen((text) => text.includes('connected to'));
  assert.equal(terminal.echoes(), false);
  terminal.type('\x03');
  assert.equal(await terminal.ended, 0, terminal.text());
});
