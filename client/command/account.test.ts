import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { freePorts } from '../../tests/helpers/port.ts';
import { accountRoutes, binary, createCli, startFakeApi } from '../test-kit.ts';

const device = {
  deviceCode: 'd',
  userCode: 'ABCD-EFGH',
  verificationUrl: 'http://127.0.0.1/activate',
  expiresIn: 60,
  interval: 0,
};

test('login prints link and code, polls until confirmed, and saves the token in a file that only its owner can read', async (t) => {
  let polls = 0;
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'POST /auth/device': { body: device },
    'POST /auth/device/token': () =>
      ++polls < 3 ? { status: 428 } : { body: { token: 'secret-api-token', email: 'ada@example.com', projects: [] } },
  });
  const cli = await createCli(t);
  const login = await cli.run(['login', '--server', api.origin], { io: { hostName: 'workbench' } });
  assert.equal(login.code, 0, login.stderr);
  assert.match(login.stderr, /ABCD-EFGH/);
  // The compiled program reads the name of this machine.
  assert.deepEqual(api.calls[0]?.body, { name: binary === undefined ? 'workbench' : hostname().slice(0, 63) });
  assert.match(login.stdout, /Signed in to .* as ada@example\.com, project Acme/);
  assert.equal(login.stdout.includes('secret-api-token'), false);
  const path = join(cli.home, '.config/underpass/credentials.json');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await stat(join(path, '..'))).mode & 0o777, 0o700);
  const whoami = await cli.run(['whoami', '--json']);
  assert.equal(JSON.parse(whoami.stdout).email, 'ada@example.com');
  assert.equal(api.calls.at(-1)?.headers.authorization, 'Bearer secret-api-token');
});

test('login shows the code without control characters', async (t) => {
  const routes = { 'POST /auth/device': { body: { ...device, userCode: 'AB\x1b]0;owned\x07CD' } } };
  const api = await startFakeApi(t, { ...routes, 'POST /auth/device/token': { status: 410 } });
  const { stderr } = await (await createCli(t)).run(['login', '--server', api.origin]);
  assert.match(stderr, /enter the code {2}AB\ufffd\]0;owned\ufffdCD\n/);
});

test('login does not wait for a browser that stays in the foreground', {
  skip: binary && 'needs a fake terminal',
  timeout: 60_000,
}, async (t) => {
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'POST /auth/device': { body: device },
    'POST /auth/device/token': { body: { token: 'tok', email: 'ada@example.com', projects: [] } },
  });
  const cli = await createCli(t);
  const browserPath = join(cli.home, 'browser');
  await writeFile(browserPath, '#!/bin/sh\necho "$$ $1" > "$0.begun"\nmv "$0.begun" "$0.started"\nexec sleep 600\n', {
    mode: 0o755,
  });
  const written: string[] = [];
  const terminal = {
    write: (text: string) => void written.push(text),
    isTTY: true,
    columns: () => 80,
    rows: () => 24,
    onResize: () => () => {},
  };
  const { code } = await cli.run(['login', '--server', api.origin], { env: { BROWSER: browserPath }, io: { stderr: terminal } });
  const stderr = written.join('');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^A browser window opens at\n\n {2}http:\/\/127/);
  let started = '';
  while (started === '') started = await readFile(`${browserPath}.started`, 'utf8').catch(() => '');
  const [pid = '', link] = started.trim().split(' ');
  process.kill(Number(pid));
  assert.equal(link, device.verificationUrl);
});

test('login keeps waiting while the server or the network fails for a moment', async (t) => {
  let polls = 0;
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'POST /auth/device': { body: device },
    'POST /auth/device/token': () => {
      polls++;
      if (polls === 1) return { status: 502, body: '<html>', headers: { 'content-type': 'text/html' } };
      if (polls === 2) return { status: 429, body: 'Slow down.' };
      return { body: { token: 'tok', email: 'ada@example.com', projects: [] } };
    },
  });
  const cli = await createCli(t);
  const login = await cli.run(['login', '--server', api.origin]);
  assert.equal(login.code, 0, login.stderr);
  assert.match(login.stderr, /Waiting for the confirmation; the code is valid for 1 minute\.\n$/);
});

test('login reports a denied code', async (t) => {
  const api = await startFakeApi(t, { 'POST /auth/device': { body: device }, 'POST /auth/device/token': { status: 410 } });
  const cli = await createCli(t);
  const { code, stderr } = await cli.run(['login', '--server', api.origin]);
  assert.equal(code, 4);
  assert.match(stderr, /code: login-expired/);
});

test('login refuses a link that is not a web address, so that a server cannot start programs', async (t) => {
  const api = await startFakeApi(t, { 'POST /auth/device': { body: { ...device, verificationUrl: 'file:///bin/sh' } } });
  const cli = await createCli(t);
  const { code, stderr } = await cli.run(['login', '--server', api.origin]);
  assert.equal(code, 8);
  assert.match(stderr, /code: server-unknown/);
});

test('login --with-token reads standard input and checks the token before it saves it', async (t) => {
  const api = await startFakeApi(t, accountRoutes);
  const cli = await createCli(t);
  assert.equal((await cli.run(['login', '--with-token', '--server', api.origin], { stdin: 'tok\n' })).code, 0);
  const refusing = await startFakeApi(t, { 'GET /api/user': { status: 401 }, 'GET /api/projects': { status: 401 } });
  const refused = await cli.run(['login', '--with-token', '--server', refusing.origin], { stdin: 'tok\n' });
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /refuses the token\n {2}fix: Create an API token in the dashboard/);
  const none = await cli.run(['login', '--with-token', '--server', api.origin]);
  assert.match(none.stderr, /^error: No token was given: .*\n {2}fix: Create an API token in the dashboard/);
  const kept = await readFile(join(cli.home, '.config/underpass/credentials.json'), 'utf8');
  assert.equal(kept.includes(refusing.origin), false);
});

test('an ended sign-in and a refused UNDERPASS_API_TOKEN have different fixes', async (t) => {
  const api = await startFakeApi(t, accountRoutes);
  const ended = { status: 401, body: 'Sign in first.' };
  const refusing = await startFakeApi(t, { 'GET /api/projects': ended });
  const cli = await createCli(t, { UNDERPASS_SERVER: refusing.origin });
  await cli.run(['login', '--with-token', '--server', api.origin], { stdin: 'tok' });
  const path = join(cli.home, '.config/underpass/credentials.json');
  await writeFile(path, (await readFile(path, 'utf8')).replaceAll(api.origin, refusing.origin));
  const fixOf = (stderr: string) => /^ {2}fix: (.*)$/m.exec(stderr)?.[1];
  assert.equal(fixOf((await cli.run(['projects'])).stderr), 'Run "underpass login".');
  const env = { UNDERPASS_API_TOKEN: 'old' };
  assert.match(fixOf((await cli.run(['projects'], { env })).stderr) ?? '', /^Set UNDERPASS_API_TOKEN to a token that is valid/);
});

test('logout forgets the token of one server, and remembers the server for the next login', async (t) => {
  const api = await startFakeApi(t, accountRoutes);
  const cli = await createCli(t);
  await cli.run(['login', '--with-token', '--server', api.origin], { stdin: 'secret-tok' });
  assert.match((await cli.run(['logout'])).stdout, /Signed out of/);
  assert.doesNotMatch(await readFile(join(cli.home, '.config/underpass/credentials.json'), 'utf8'), /secret-tok/);
  assert.match((await cli.run(['logout'])).stdout, new RegExp(`There was no sign-in to ${api.origin}`));
  assert.equal((await cli.run(['login', '--with-token'], { stdin: 'tok' })).code, 0);
});

test('the name of a device is that of its host', async (t) => {
  const api = await startFakeApi(t, { 'POST /auth/device': { body: device }, 'POST /auth/device/token': { status: 410 } });
  await (await createCli(t)).run(['login', '--server', api.origin]);
  assert.deepEqual(api.calls[0]?.body, { name: hostname() });
});

describe('sudo', { skip: binary && 'needs a fake user' }, () => {
  const asRoot = (invokersHome: string) => ({
    userId: 0,
    execute: async (file: string, args: readonly string[]) => {
      assert.deepEqual([file, ...args], ['/bin/sh', '-c', 'echo ~ada']);
      return { code: 0, stdout: `${invokersHome}\n`, stderr: '' };
    },
  });

  async function signedIn(t: TestContext) {
    const api = await startFakeApi(t, accountRoutes);
    const user = await createCli(t);
    await user.run(['login', '--with-token', '--server', api.origin], { stdin: 'tok' });
    return { user, root: await createCli(t), api };
  }

  test('uses the sign-in of the user who called it', async (t) => {
    const { user, root } = await signedIn(t);
    const settings = { env: { SUDO_USER: 'ada' }, io: asRoot(user.home) };
    const { code, stdout, stderr } = await root.run(['whoami'], settings);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /ada@example\.com/);
    await assert.rejects(stat(join(root.home, '.config/underpass/credentials.json')), 'nothing is copied');
  });

  for (const [what, env, userId] of [
    ['a user who is not root', { SUDO_USER: 'ada' }, 1000],
    ['a name that is no user name', { SUDO_USER: '$(id)' }, 0],
    ['root', { SUDO_USER: 'root' }, 0],
  ] as const) {
    test(`does not run a shell for ${what}`, async (t) => {
      const { root } = await signedIn(t);
      const io = { userId, execute: () => assert.fail('a shell') };
      assert.equal((await root.run(['whoami'], { env, io })).code, 4);
    });
  }

  test('keeps the sign-in of root, if it has one', async (t) => {
    const { root, api } = await signedIn(t);
    await root.run(['login', '--with-token', '--server', api.origin], { stdin: 'root-tok' });
    await root.run(['whoami'], { env: { SUDO_USER: 'ada' }, io: { userId: 0, execute: () => assert.fail('a shell') } });
    assert.equal(api.calls.at(-1)?.headers.authorization, 'Bearer root-tok');
  });
});

test('logout ends the token at the server, and says so when it stays valid', async (t) => {
  const asked: (string | undefined)[] = [];
  let answer = { status: 204, body: '' };
  const logout = ({ headers }: { headers: { authorization?: string } }) => {
    asked.push(headers.authorization);
    return answer;
  };
  const api = await startFakeApi(t, { ...accountRoutes, 'POST /auth/logout': logout });
  const cli = await createCli(t);
  const signOut = async () => {
    await cli.run(['login', '--with-token', '--server', api.origin], { stdin: 'tok' });
    const { code, stdout, stderr } = await cli.run(['logout']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Signed out of/);
    return stderr;
  };
  assert.equal(await signOut(), '');
  answer = { status: 401, body: 'Sign in first.' };
  assert.equal(await signOut(), '');
  answer = { status: 403, body: 'This API token stays valid.' };
  assert.match(await signOut(), /This API token stays valid\./);
  answer = { status: 503, body: 'no' };
  assert.match(await signOut(), /the token stays valid, because the server was not told .* page Account/);
  assert.deepEqual(asked, Array(4).fill('Bearer tok'));
});

test('the error for a damaged credentials file names it and the fix', async (t) => {
  const cli = await createCli(t);
  const path = join(cli.home, '.config/underpass/credentials.json');
  await mkdir(join(path, '..'), { recursive: true });
  for (const text of ['{', 'null', '{"version":1,"current":"","servers":{"x":3}}']) {
    await writeFile(path, text);
    const { code, stderr } = await cli.run(['projects']);
    assert.equal(code, 3);
    assert.match(stderr, /code: credentials-invalid/);
  }
});

test('a home that is not a folder holds no sign-in, and login says why it cannot save one there', async (t) => {
  const api = await startFakeApi(t, accountRoutes);
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, XDG_CONFIG_HOME: '/dev/null' });
  assert.equal((await cli.run(['projects'], { env: { UNDERPASS_API_TOKEN: 'tok' } })).code, 0);
  assert.match((await cli.run(['projects'])).stderr, /code: not-signed-in/);
  const { code, stderr } = await cli.run(['login', '--with-token'], { stdin: 'tok' });
  assert.match(stderr, /A file cannot be written: \/dev\/null\/underpass\/credentials\.json \(.+\)$/m);
  assert.equal(code, 3);
});

test('the fix for a missing sign-in names the server of --server', async (t) => {
  const api = await startFakeApi(t, accountRoutes);
  const cli = await createCli(t, { UNDERPASS_SERVER: 'https://other.example.com' });
  assert.match((await cli.run(['projects'])).stderr, /^ {2}fix: Run "underpass login"\.$/m);
  const { stderr } = await cli.run(['projects', '--server', api.origin]);
  assert.match(stderr, new RegExp(`^  fix: Run "underpass login --server ${api.origin}"\\.$`, 'm'));
});

test('a malformed UNDERPASS_API_TOKEN is reported as malformed', async (t) => {
  const api = await startFakeApi(t, accountRoutes);
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin });
  for (const UNDERPASS_API_TOKEN of ['тест', 'two words']) {
    const { code, stderr } = await cli.run(['projects'], { env: { UNDERPASS_API_TOKEN } });
    assert.match(stderr, /That is not a token: UNDERPASS_API_TOKEN\n {2}fix: .* create one in the dashboard/);
    assert.equal(code, 2);
  }
});

test('writing the credentials file again restores mode 0600', async (t) => {
  const api = await startFakeApi(t, accountRoutes);
  const cli = await createCli(t);
  const path = join(cli.home, '.config/underpass/credentials.json');
  await cli.run(['login', '--with-token', '--server', api.origin], { stdin: 'one' });
  await chmod(path, 0o644);
  await cli.run(['login', '--with-token', '--server', api.origin], { stdin: 'two' });
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});

const refusals = [
  { status: 400, body: 'That name is taken.', code: 7, text: /That name is taken\./ },
  { status: 401, body: '', code: 4, text: /code: not-signed-in/ },
  { status: 403, body: 'Your role may not do this.', code: 5, text: /code: forbidden/ },
  { status: 404, body: 'Not found.', code: 6, text: /code: not-found/ },
  { status: 409, body: 'In use by shop.', code: 7, text: /In use by shop\./ },
  { status: 429, body: 'Slow down.', code: 9, text: /Try again in 7 s\./, headers: { 'retry-after': '7' } },
  { status: 500, body: 'boom', code: 9, text: /code: server-failed/ },
  { status: 200, body: '<html>', code: 8, text: /code: server-unknown/ },
  // From a web server or a proxy: not the API's answer about what is missing or forbidden.
  { status: 404, body: '<html>', code: 8, text: /not Underpass: .* answers 404/, headers: { 'content-type': 'text/html' } },
  { status: 403, body: '<html>', code: 8, text: /not Underpass: .* answers 403/, headers: { 'content-type': 'text/html' } },
  // A plain web server, to a POST.
  {
    status: 501,
    body: '<html>',
    code: 8,
    text: /not Underpass: .* answers 501\n.*address of the dashboard/,
    headers: { 'content-type': 'text/html' },
  },
  { status: 502, body: '<html>proxy page</html>', code: 9, text: /answers 502/, headers: { 'content-type': 'text/html' } },
];

for (const { status, body, code, text, headers } of refusals) {
  test(`an answer ${status} '${body}' ends with exit code ${code} and its text`, async (t) => {
    const api = await startFakeApi(t, { 'GET /api/projects': { status, body, ...(headers ? { headers } : {}) } });
    const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
    const result = await cli.run(['projects']);
    assert.equal(result.code, code, result.stderr);
    assert.match(result.stderr, text);
    assert.equal(result.stdout, '');
    const asJson = await cli.run(['projects', '--json']);
    assert.equal(JSON.parse(asJson.stderr).error.exitCode, code);
  });
}

test('an unreachable server ends with exit code 8 and the reason', async (t) => {
  const [port] = await freePorts(1);
  const cli = await createCli(t, { UNDERPASS_SERVER: `http://127.0.0.1:${port}`, UNDERPASS_API_TOKEN: 'tok' });
  const { code, stderr } = await cli.run(['projects']);
  assert.equal(code, 8);
  assert.match(stderr, /127\.0\.0\.1:\d+ \(.*connection refused/);
});

test('the error for a server without TLS behind https is one line', async (t) => {
  const api = await startFakeApi(t, {});
  const cli = await createCli(t, { UNDERPASS_API_TOKEN: 'tok' });
  const { code, stderr } = await cli.run(['projects', '--server', api.origin.replace('http:', 'https:')]);
  assert.match(stderr, /^error: The server cannot be reached: https:\S+ \(TLS fails: is it http:\/\/\?\)\n {2}fix: /);
  assert.equal(code, 8);
});

test('the error for a server that does not answer says so', { skip: binary && 'needs a fake network' }, async (t) => {
  const cli = await createCli(t, { UNDERPASS_SERVER: 'https://eu1.example.com', UNDERPASS_API_TOKEN: 'tok' });
  const fetch = () => Promise.reject(new DOMException('The operation was aborted', 'TimeoutError'));
  const { code, stderr } = await cli.run(['projects'], { io: { fetch } });
  assert.match(stderr, /eu1\.example\.com \(no answer within 30 s\)$/m);
  assert.equal(code, 8);
});

test('does not follow a redirect with the token', async (t) => {
  const elsewhere = await startFakeApi(t, accountRoutes);
  const api = await startFakeApi(t, {
    'GET /api/projects': { status: 302, headers: { location: `${elsewhere.origin}/api/projects` } },
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  assert.equal((await cli.run(['projects'])).code, 8);
  assert.equal(elsewhere.calls.length, 0);
});

test('control characters in names from the server do not reach the terminal', async (t) => {
  const name = 'evil\u001b]0;title\u0007\u202e';
  const api = await startFakeApi(t, { 'GET /api/projects': { body: [{ id: 'p1', name, role: 'owner' }] } });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  assert.doesNotMatch((await cli.run(['projects'])).stdout, /[\u001b\u0007\u202e]/);
  assert.equal(JSON.parse((await cli.run(['projects', '--json'])).stdout)[0].name, name);
});

const servers = [
  ['underpass.example.com/path', 2],
  ['ftp://underpass.example.com', 2],
  ['http://user@underpass.example.com', 2],
  ['http://underpass.example.com/?q', 2],
] as const;
for (const [server, code] of servers) {
  test(`refuses --server ${server}`, async (t) => {
    const cli = await createCli(t);
    assert.equal((await cli.run(['projects', '--server', server])).code, code);
  });
}

test('the fix for a server without releases is to ask the operator', async (t) => {
  const api = await startFakeApi(t, { 'GET /api/releases': { body: [] } });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin });
  const { code, stderr } = await cli.run(['update', '--check']);
  assert.match(stderr, /offers none\n {2}fix: Ask the operator/);
  assert.equal(code, 6);
});

test('regions and projects are tables for people and the API answer with --json', async (t) => {
  const region = { name: 'eu1', description: 'Europe', available: true, tlsTermination: false };
  const api = await startFakeApi(t, { ...accountRoutes, 'GET /api/regions': { body: [region] } });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  assert.match((await cli.run(['regions'])).stdout, /eu1\s+Europe\s+yes\s+ingress$/m);
  assert.deepEqual(JSON.parse((await cli.run(['regions', '--json'])).stdout), [region]);
  assert.match((await cli.run(['projects'])).stdout, /Acme\s+owner\s+p1/);
});

test('--project takes an id or a name, and asks for the id if two projects have the name', async (t) => {
  const projects = [
    { id: 'p1', name: 'Acme', role: 'owner' },
    { id: 'p2', name: 'Beta', role: 'viewer' },
    { id: 'p3', name: 'Beta', role: 'admin' },
  ];
  const api = await startFakeApi(t, { ...accountRoutes, 'GET /api/projects': { body: projects } });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  const chosen = async (name: string) =>
    JSON.parse((await cli.run(['whoami', '--json', '--project', name])).stdout || '{}').project?.id;
  assert.equal(await chosen('p3'), 'p3');
  assert.equal(await chosen('Acme'), 'p1');
  assert.match((await cli.run(['whoami', '--project', 'Beta'])).stderr, /2 projects are named/);
  assert.equal((await cli.run(['whoami', '--project', 'None'])).code, 6);
});
