// Every command, as a process, in an environment full of proxies: where its calls go. The compiled program as well.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { startFakeEdge } from './carry/fixture/edge.ts';
import { createProgram } from './cli.ts';
import { createProcessIo } from './process/process-io.ts';
import { accountRoutes, binary } from './test-kit.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const [file = '', ...first] = binary === undefined ? [process.execPath, main] : [binary];

type Reached = 'server' | 'region' | 'inspector';

interface Row {
  readonly argv: readonly string[];
  readonly reaches: readonly Reached[];
  /** Ends by a signal. */
  readonly isLasting?: true;
}

const lasting = (argv: readonly string[], ...reaches: readonly Reached[]): Row => ({ argv, reaches, isLasting: true });
const calls = (...argv: readonly string[]): Row => ({ argv, reaches: ['server'] });
const local = (...argv: readonly string[]): Row => ({ argv, reaches: [] });

const pin = '5c'.repeat(32);
const upstream = ['--upstream', 'http://127.0.0.1:9'];
const mcpServer = fileURLToPath(new URL('./mcp/fixture/server.mjs', import.meta.url));

/** REGION, SSH, CONFIG and FOREIGN stand for what a test starts. No service is installed: root would write to the system. */
const rows: Readonly<Record<string, Row>> = {
  http: lasting(['http', '9'], 'server', 'region'),
  ingress: lasting(['ingress', '--url', 'REGION', '--upstream', '127.0.0.1'], 'region'),
  tcp: lasting(['tcp', '9'], 'server', 'region'),
  serve: lasting(['serve', '.'], 'server', 'region'),
  connect: lasting(['connect', 'shop', ...upstream], 'server', 'region'),
  init: local('init'),
  import: local('import', 'FOREIGN', '--output', '-'),
  run: lasting(['run', '--config', 'CONFIG'], 'region'),
  check: local('check', '--config', 'CONFIG'),
  inspect: { argv: ['inspect', '--json'], reaches: ['inspector'] },
  replay: { argv: ['replay', '1', '--json'], reaches: ['inspector'] },
  mcp: lasting(['mcp', '--', process.execPath, mcpServer, 'session'], 'server', 'region'),
  'ssh serve': lasting(['ssh', 'serve', 'ssh', '--host', 'box=127.0.0.1'], 'server', 'region'),
  'ssh connect': { argv: ['ssh', 'connect', '--pin', pin, 'SSH'], reaches: ['region'] },
  reach: calls('reach', 'shop', '--stdio'),
  login: calls('login', '--with-token'),
  logout: local('logout'),
  whoami: calls('whoami'),
  projects: calls('projects'),
  regions: calls('regions'),
  'tunnels list': calls('tunnels', 'list'),
  'tunnels show': calls('tunnels', 'show', 'shop'),
  'tunnels add': calls('tunnels', 'add', 'new', '--type', 'http', '--generate-domain'),
  'tunnels update': calls('tunnels', 'update', 'shop', '--group', 'office'),
  'tunnels keep': calls('tunnels', 'keep', 'shop'),
  'tunnels rm': calls('tunnels', 'rm', 'shop', '--yes'),
  logs: calls('logs', 'shop'),
  'tickets list': calls('tickets', 'list', 'shop'),
  'tickets add': calls('tickets', 'add', 'shop', 'ci', '--no-bound'),
  'tickets rm': calls('tickets', 'rm', 'shop', '01k9', '--yes'),
  'token show': calls('token', 'show', 'shop'),
  'token rotate': calls('token', 'rotate', 'shop', '--yes'),
  'domains list': calls('domains', 'list'),
  'domains add': calls('domains', 'add', 'example.com'),
  'domains verify': calls('domains', 'verify', 'example.com'),
  'domains rm': calls('domains', 'rm', 'example.com', '--yes'),
  'certificates show': calls('certificates', 'show', 'app.example.com'),
  'certificates set': calls('certificates', 'set', 'app.example.com', '--chain', 'CONFIG', '--key', 'CONFIG'),
  'certificates update': calls('certificates', 'update', 'app.example.com', '--no-fallback'),
  'certificates rm': calls('certificates', 'rm', 'app.example.com', '--yes'),
  'groups list': calls('groups', 'list'),
  'groups show': calls('groups', 'show', 'office'),
  'groups add': calls('groups', 'add', 'office', '--allow', '192.0.2.1'),
  'groups set': calls('groups', 'set', 'office', '--allow', '192.0.2.1'),
  'groups rm': calls('groups', 'rm', 'office', '--yes'),
  'access list': calls('access', 'list'),
  'access show': calls('access', 'show', 'team'),
  'access add': calls('access', 'add', 'team', '--rule', '/*=public'),
  'access set': calls('access', 'set', 'team', '--rule', '/*=public'),
  'access rm': calls('access', 'rm', 'team', '--yes'),
  'access test': calls('access', 'test', 'team', 'https://shop.example.com/'),
  'access tokens': calls('access', 'tokens', 'list', 'team'),
  'access links': calls('access', 'links', 'list', 'team'),
  'access programs': calls('access', 'programs', 'list', 'team'),
  'access sign-out': calls('access', 'sign-out', 'team', '--yes'),
  'access sign-ins': calls('access', 'sign-ins'),
  doctor: { argv: ['doctor', 'shop', ...upstream], reaches: ['server', 'region'] },
  'service install': calls('service', 'install', 'missing'),
  'service status': local('service', 'status', 'missing'),
  'service uninstall': local('service', 'uninstall', 'missing'),
  update: calls('update', '--check'),
  version: local('version'),
  completion: local('completion', 'bash'),
  complete: calls('complete', '--', 'tunnels', 'show', ''),
};

test('the table below has a row for every command', async () => {
  const named = (command: Command, words: string): readonly string[] => {
    const children = command.commands.filter((child) => child.name() !== 'help');
    return children.length === 0 ? [words] : children.flatMap((child) => named(child, `${words} ${child.name()}`.trim()));
  };
  const program = await createProgram({ io: createProcessIo(), exitCode: 0 });
  const inTable = named(program, '').map((words) => words.replace(/^(access (?:tokens|links|programs)) .*/, '$1'));
  assert.deepEqual(Object.keys(rows).sort(), [...new Set(inTable)].sort());
});

async function listening<S extends Server | ReturnType<typeof createTcpServer>>(t: TestContext, server: S): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Keeps the first line of every request, and passes CONNECT on to the port of the name. */
async function startProxy(t: TestContext, portOf: (authority: string) => number | undefined) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim());
    response.end('from the proxy');
  });
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    asked.push(`CONNECT ${request.url}`);
    const port = portOf(request.url ?? '');
    if (port === undefined) return void client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    const target = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(target).pipe(client);
    });
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy());
  });
  return { asked, url: `http://127.0.0.1:${await listening(t, server)}` };
}

interface World {
  readonly origin: string;
  /** The region's URL, and an SSH host of the gateway, which is the same edge. */
  readonly region: string;
  readonly ssh: string;
  readonly env: Readonly<Record<string, string>>;
  readonly inspectorPort: number;
  reached(place: Reached): number;
  readonly onReached: Set<() => void>;
}

/** A server, a region and an inspector. With `names` the server speaks TLS: then its name and that of the region do not resolve. */
async function startWorld(t: TestContext, names?: { readonly server: string; readonly region: string }) {
  const counts: Record<Reached, number> = { server: 0, region: 0, inspector: 0 };
  const onReached = new Set<() => void>();
  const count = (place: Reached): void => {
    counts[place]++;
    for (const listener of onReached) listener();
  };
  const edge = await startFakeEdge({ names: [names?.region ?? 'edge.localhost', 'ssh.localhost'] });
  t.after(() => edge[Symbol.asyncDispose]());
  // A relay in front of the edge, which counts.
  const regionPort = await listening(
    t,
    createTcpServer((socket) => {
      count('region');
      const target = connect(edge.port, '127.0.0.1').on('error', () => socket.destroy());
      socket.on('close', () => target.destroy());
      socket.pipe(target).pipe(socket);
    }),
  );
  const region = `https://${names?.region ?? `edge.localhost:${regionPort}`}#ca=${edge.authority.pin}`;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    count('server');
    const body = bodyOf(request, region);
    response.writeHead(body === undefined ? 404 : 200, {
      'content-type': body === undefined ? 'text/plain' : 'application/json',
    });
    response.end(body === undefined ? 'Not found.' : JSON.stringify(body));
  };
  const inspector = createServer((request, response) => {
    count('inspector');
    assert.equal(request.headers.authorization, 'Bearer inspector-token');
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"text":"no such request"}}');
  });
  const inspectorPort = await listening(t, inspector);
  const leaf = names && (await edge.authority.issue([names.server]));
  const server = leaf ? createHttpsServer({ key: leaf.keyPem, cert: leaf.chainPem }, answer) : createServer(answer);
  const port = await listening(t, server);
  const folder = await mkdtemp(join(tmpdir(), 'underpass-proxy-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  await writeFile(join(folder, 'ca.pem'), edge.authority.certificatePem);
  const world: World = {
    origin: names ? `https://${names.server}` : `http://localhost:${port}`,
    region,
    ssh: names ? `box.${names.region}` : `box.ssh.localhost:${regionPort}`,
    env: { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') },
    inspectorPort,
    reached: (place) => counts[place],
    onReached,
  };
  return { world, folder, port, regionPort };
}

function bodyOf({ method, url = '' }: IncomingMessage, region: string): unknown {
  if (url === '/api/user') return accountRoutes['GET /api/user'].body;
  if (url === '/api/projects') return accountRoutes['GET /api/projects'].body;
  if (url.startsWith('/api/access-policies/')) return { ...policy, name: 'mcp-members', members: true };
  if (url === '/api/regions' || url === '/api/releases') return [];
  const isTunnel = /^\/api\/tunnels\/(shop|ssh)(\?|$)/.test(url) && method === 'GET';
  if (isTunnel || (method === 'POST' && /quick/.test(url))) return tunnelOf(/ssh/.test(url) ? 'ssh' : 'shop', region);
  return undefined;
}

const policy = { people: [], provider: null, password: false, tokenCount: 0, linkCount: 0, rules: [] };

const tunnelOf = (name: string, url: string) => ({
  name,
  type: name === 'ssh' ? 'ingress' : 'http',
  region: 'test',
  regionDescription: '',
  status: 'Created',
  ingressDomains: [{ name: `${name}.example.com`, apexName: 'example.com', verified: true, url: `https://${name}.example.com` }],
  connectedClients: 0,
  dataPlaneHost: 'edge.localhost',
  proxyProtocol: '',
  securityGroup: 'default',
  accessPolicy: 'mcp-members',
  updatedAt: '2026-11-20T10:00:00.000Z',
  token: 'secret',
  url,
  underpassVersion: '0.1.0',
});

/** Runs the command of a row in a home of its own, and waits until it has reached its places and ended. */
async function runRow(
  t: TestContext,
  folder: string,
  { argv, reaches, isLasting }: Row,
  world: World,
  env: Record<string, string>,
) {
  const home = await mkdtemp(join(folder, 'home-'));
  const configFolder = join(home, '.config', 'underpass', 'inspect');
  await mkdir(configFolder, { recursive: true });
  const { inspectorPort } = world;
  await writeFile(join(configFolder, `${inspectorPort}.json`), `{"port":${inspectorPort},"token":"inspector-token"}`);
  const config = join(home, 'named.yaml');
  await writeFile(join(home, 'token'), 'secret\n', { mode: 0o600 });
  await writeFile(
    config,
    `tunnels: [{ name: t, type: http, url: "${world.region}", token-file: token, upstream: "127.0.0.1:9" }]\n`,
  );
  const foreign = join(home, 'frpc.ini');
  await writeFile(foreign, '[web]\ntype = http\nlocal_port = 9\n');
  const given: Readonly<Record<string, string>> = { REGION: world.region, SSH: world.ssh, CONFIG: config, FOREIGN: foreign };
  const before = Object.fromEntries(reaches.map((place) => [place, world.reached(place)]));
  const account = { UNDERPASS_SERVER: world.origin, UNDERPASS_API_TOKEN: 'tok', UNDERPASS_TOKEN: 'secret', NO_COLOR: '1' };
  const child = spawn(file, [...first, ...argv.map((word) => given[word] ?? word)], {
    cwd: home,
    env: { PATH: '', HOME: home, ...account, ...world.env, ...env },
  });
  t.after(() => child.kill('SIGKILL'));
  child.stdin.on('error', () => {}).end('tok\n');
  let text = '';
  const hasReached = (): boolean => reaches.every((place) => world.reached(place) > before[place]!);
  const end = (): void => {
    if (isLasting && hasReached() && /connected/.test(text)) child.kill('SIGTERM');
  };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      end();
    });
  world.onReached.add(end);
  await once(child, 'close');
  world.onReached.delete(end);
  const missed = reaches.filter((place) => world.reached(place) === before[place]);
  assert.deepEqual(missed, [], `${argv.join(' ')} printed ${text}`);
  return text;
}

const anyCase = (name: string, value: string): Record<string, string> => ({ [name]: value, [name.toLowerCase()]: value });

test('no command takes a proxy to a server, a region or an inspector of this machine', async (t) => {
  const { world, folder } = await startWorld(t);
  const proxy = await startProxy(t, () => undefined);
  const all = { ...anyCase('HTTP_PROXY', proxy.url), ...anyCase('HTTPS_PROXY', proxy.url), ...anyCase('ALL_PROXY', proxy.url) };
  // Node would read them before the program begins.
  const env = { ...all, NODE_USE_ENV_PROXY: '1' };
  for (const [name, row] of Object.entries(rows)) {
    await runRow(t, folder, row, world, env);
    assert.deepEqual(proxy.asked, [], name);
  }
});

test('every command takes the proxy of HTTPS_PROXY to a server and a region elsewhere, and shows it names alone', async (t) => {
  const names = { server: 'console.underpass.invalid', region: 'edge.underpass.invalid' };
  const { world, folder, port, regionPort } = await startWorld(t, names);
  const ports = new Map([
    [`${names.server}:443`, port],
    [`${names.region}:443`, regionPort],
  ]);
  const proxy = await startProxy(t, (authority) => ports.get(authority));
  const trap = await startProxy(t, () => undefined);
  const env = { HTTPS_PROXY: proxy.url, ...anyCase('HTTP_PROXY', trap.url), ...anyCase('ALL_PROXY', trap.url) };
  for (const [name, row] of Object.entries(rows).filter(([, { reaches }]) => reaches.length > 0)) {
    proxy.asked.length = 0;
    await runRow(t, folder, row, world, env);
    const places = new Set(proxy.asked);
    const expected = row.reaches.flatMap((place) => (place === 'inspector' ? [] : [`CONNECT ${names[place]}:443`]));
    assert.deepEqual([...places].sort(), expected.sort(), name);
    assert.deepEqual(trap.asked, [], name);
  }
});

test('a server of plain http elsewhere is called directly: no proxy reads the sign-in', async (t) => {
  const { world, folder } = await startWorld(t);
  const proxy = await startProxy(t, () => undefined);
  const env = { ...anyCase('HTTP_PROXY', proxy.url), ...anyCase('HTTPS_PROXY', proxy.url), ...anyCase('ALL_PROXY', proxy.url) };
  const elsewhere = { ...world, origin: 'http://console.underpass.invalid' };
  const text = await runRow(t, folder, { argv: ['whoami'], reaches: [] }, elsewhere, env);
  assert.match(text, /name does not resolve/);
  assert.deepEqual(proxy.asked, []);
});

for (const [how, noProxy, origin] of [
  ['a range', '0.0.0.0/8, 192.0.2.0/24', 'https://0.0.0.0:9'],
  ['a host and port', 'console.underpass.invalid:443', 'https://console.underpass.invalid'],
  ['a suffix', '.underpass.invalid', 'https://console.underpass.invalid'],
  ['*', '*', 'https://console.underpass.invalid'],
] as const) {
  test(`NO_PROXY exempts ${how}, whatever the runtime makes of it`, async (t) => {
    const { world, folder } = await startWorld(t);
    const proxy = await startProxy(t, () => undefined);
    const env = { HTTPS_PROXY: proxy.url, NO_PROXY: noProxy, NODE_USE_ENV_PROXY: '1' };
    const text = await runRow(t, folder, { argv: ['whoami'], reaches: [] }, { ...world, origin }, env);
    assert.match(text, /code: server-unreachable/);
    assert.deepEqual(proxy.asked, []);
  });
}

async function closedPort(t: TestContext): Promise<number> {
  const server = createTcpServer();
  const port = await listening(t, server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const proxyAdvice = /Check HTTPS_PROXY, or exempt the host with NO_PROXY\.\n {2}code: proxy-failed/;

test('an error that a proxy causes names the proxy, and not the server', async (t) => {
  const { world, folder } = await startWorld(t);
  const elsewhere = { ...world, origin: 'https://console.underpass.invalid' };
  const login = { argv: ['login', '--with-token'], reaches: [] };
  const run = (HTTPS_PROXY: string) => runRow(t, folder, login, elsewhere, { HTTPS_PROXY });
  const dead = `127.0.0.1:${await closedPort(t)}`;
  const text = await run(`http://ada:hunter2@${dead}`);
  assert.ok(text.startsWith(`error: The HTTP proxy cannot be used: ${dead} (ECONNREFUSED)\n`), text);
  assert.match(text, proxyAdvice);
  assert.doesNotMatch(text, /hunter2/);
  const refusing = await startProxy(t, () => undefined);
  assert.match(
    await run(refusing.url),
    /The HTTP proxy cannot be used: 127\.0\.0\.1:\d+ answers 502\n {2}fix: Check user and password/,
  );
  assert.match(
    await run('socks5://ada:hunter2@proxy'),
    /The HTTP proxy cannot be used: it is not an http or https URL\n {2}fix: Write it/,
  );
});

test('an error of a server behind a proxy names both', async (t) => {
  const { world, folder } = await startWorld(t);
  const port = await listening(
    t,
    createTcpServer((socket) => socket.destroy()),
  );
  const proxy = await startProxy(t, () => port);
  const elsewhere = { ...world, origin: 'https://console.underpass.invalid' };
  const text = await runRow(t, folder, { argv: ['whoami'], reaches: [] }, elsewhere, { HTTPS_PROXY: proxy.url });
  assert.match(
    text,
    /The server cannot be reached: https:\/\/console\.underpass\.invalid \(.*\), through the HTTP proxy 127\.0\.0\.1:\d+\n/,
  );
});

test('doctor says that a proxy is used, and that it is the proxy that fails', async (t) => {
  const { world, folder } = await startWorld(t);
  const dead = `127.0.0.1:${await closedPort(t)}`;
  const elsewhere = { ...world, origin: 'https://console.underpass.invalid' };
  const text = await runRow(t, folder, { argv: ['doctor'], reaches: [] }, elsewhere, { HTTPS_PROXY: `http://${dead}` });
  assert.ok(text.includes(`ok    server proxy: through ${dead} (HTTPS_PROXY)\n`), text);
  assert.match(
    text,
    /FAIL {2}server proxy TCP: port \d+ of 127\.0\.0\.1: .*\n {6}fix: Check HTTPS_PROXY, or exempt console\.underpass\.invalid/,
  );
});
