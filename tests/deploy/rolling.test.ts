// deploy/compose/rolling.yaml, played by processes on addresses of the loopback network: its services with their settings, haproxy
// and Caddy with the shipped files, and replace.sh, which finds a `docker` that starts processes.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, get as getPlain } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startPostgres } from '@underpass/control/test-kit-postgres.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { startArrivals, startEchoUpstream } from '../helpers/arrivals.ts';
import { type ComposeService, composeServices } from '../helpers/deployment.ts';
import { freePorts } from '../helpers/port.ts';
import { type ProcessOf, startProcess, startProgram, temporaryHome } from '../helpers/process.ts';
import { type Account, signInBy, tunnelCreated } from '../helpers/product.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';
import { visitUntil } from '../helpers/visitor.ts';

const shipped = fileURLToPath(new URL('../../deploy/compose/', import.meta.url));
/** Edges find this name without a name server. */
const console = 'localhost';
const run = promisify(execFile);

interface Stage {
  readonly folder: string;
  readonly ports: { readonly https: number; readonly http: number; readonly admin: number; readonly docker: number };
  readonly origin: string;
  /** Gives a shipped text the addresses and ports of this test. */
  localise(text: string): string;
}

async function openStage(t: TestContext): Promise<Stage> {
  const folder = await temporaryHome(t);
  const [https = 0, http = 0, admin = 0, docker = 0] = await freePorts(4);
  // Each machine owns all of 127.0.0.0/8.
  const network = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.`;
  const localise = (text: string): string =>
    text
      .replaceAll('172.30.85.', network)
      .replaceAll('9999', String(admin))
      .replace('mode tcp', `mode tcp\n  source ${network}2`)
      .replace('bind :443', `bind 127.0.0.1:${https}`)
      .replace('bind :80', `bind 127.0.0.1:${http}`)
      .replace('\n{\n', `\n{\n  admin off\n  local_certs\n  skip_install_trust\n  default_bind ${network}3\n`);
  return { folder, ports: { https, http, admin, docker }, origin: `https://${console}:${https}`, localise };
}

/** Starts haproxy and Caddy; resolves with the file of Caddy's own authority. */
async function startDoors(t: TestContext, { folder, localise, ports }: Stage): Promise<string> {
  const file = (name: string): string => {
    writeFileSync(join(folder, name), localise(readFileSync(join(shipped, name), 'utf8')));
    return join(folder, name);
  };
  const env = { UNDERPASS_CONSOLE_HOST: console, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const root = join(folder, 'caddy/pki/authorities/local/root.crt');
  startProgram(t, requireTool('caddy'), ['run', '--config', file('Caddyfile'), '--adapter', 'caddyfile'], env);
  await startProgram(t, requireTool('haproxy'), ['-db', '-f', file('haproxy.cfg')], env).listening(ports.https);
  await eventually(
    async () => run('ls', [root]).catch(() => null),
    (found) => found !== null,
  );
  return root;
}

/** Runs one service as its container does, with test values for what the machine of a reader has. */
class Container {
  process: ProcessOf | null = null;
  readonly #t: TestContext;
  readonly #service: ComposeService;
  readonly env: Record<string, string>;

  constructor(t: TestContext, service: ComposeService, env: Record<string, string>) {
    this.#t = t;
    this.#service = service;
    const production = ['UNDERPASS_PRODUCTION', 'UNDERPASS_ACME_DIRECTORY', 'DATABASE_URL_FILE', 'SMTP_URL_FILE'];
    const kept = Object.entries(service.environment).filter(([name]) => !production.includes(name));
    this.env = { ...Object.fromEntries(kept), ...env };
  }

  /** What `docker compose up --wait` does with a new image. */
  async replace(): Promise<void> {
    await this.process?.end('SIGTERM');
    this.process = startProcess(this.#t, ['server/main.ts', ...this.#service.command], this.env);
    const [, , ...args] = this.#service.healthcheck?.test ?? [];
    const isHealthy = (): Promise<boolean> =>
      wait(500)
        .then(() => run(process.execPath, args, { env: this.env }))
        .then(
          () => true,
          () => false,
        );
    await eventually(isHealthy, Boolean, 60_000).catch(() => assert.fail(this.process?.text()));
  }

  async command(...args: string[]): Promise<string> {
    const { child, text } = startProcess(this.#t, ['server/main.ts', ...args], this.env);
    await once(child, 'close');
    assert.equal(child.exitCode, 0, text());
    return text().trim();
  }
}

/** A `docker` for replace.sh. */
async function writeDocker(t: TestContext, { folder, ports }: Stage, containers: Map<string, Container>): Promise<string> {
  const server = createServer((request, response) => {
    const container = containers.get(request.url?.slice(1) ?? '') ?? assert.fail(`no service ${request.url}`);
    container.replace().then(
      () => response.end(),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  }).listen(ports.docker, '127.0.0.1');
  t.after(() => server.close());
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const script = `#!/usr/bin/env bash
case "$*" in
  "compose -f rolling.yaml exec -T balancer "*) shift 6; exec "$@" ;;
  "compose -f rolling.yaml up -d --no-deps --wait "*) exec curl -sSf "http://127.0.0.1:${ports.docker}/\${!#}" ;;
  *) echo "docker $*?" >&2; exit 1 ;;
esac
`;
  writeFileSync(join(bin, 'docker'), script, { mode: 0o755 });
  return bin;
}

/** Calls the API through the balancer, on a new connection each time. */
function keepCalling(t: TestContext, port: number, ca: Buffer, { cookie, project }: Account): () => Record<string, number> {
  const answers: Record<string, number> = {};
  const count = (what: string): void => {
    answers[what] = (answers[what] ?? 0) + 1;
  };
  const options = { host: '127.0.0.1', port, servername: console, ca, agent: false, path: `/api/tunnels?project=${project}` };
  const headers = { host: `${console}:${port}`, cookie };
  const timer = setInterval(() => {
    get({ ...options, headers }, (response) => count(String(response.resume().statusCode))).on('error', ({ message }) =>
      count(message),
    );
  }, 200);
  t.after(() => clearInterval(timer));
  return () => {
    clearInterval(timer);
    return answers;
  };
}

test('replace.sh puts new containers of rolling.yaml in place, and no visit and no call fails', {
  skip: skipWithout('haproxy', 'caddy', 'postgres', 'curl'),
}, async (t) => {
  const stage = await openStage(t);
  const { folder, ports, origin, localise } = stage;
  const postgres = await startPostgres();
  t.after(() => postgres.close());
  const caFile = await startDoors(t, stage);
  writeFileSync(join(folder, 'master-key'), randomBytes(32).toString('base64'), { mode: 0o600 });
  const services = composeServices('rolling.yaml', (text) => localise(text).replaceAll('https://console.example.com', origin));
  const containers = new Map<string, Container>();
  const contain = (name: string, env: Record<string, string>): Container => {
    const home = { UNDERPASS_HOME: join(folder, name), UNDERPASS_DATA_PLANE_HOST: 'eu.localhost' };
    const container = new Container(t, services[name] ?? assert.fail(name), { ...home, ...env });
    containers.set(name, container);
    return container;
  };
  const control = contain('control', {
    DATABASE_URL: await postgres.createDatabase(),
    UNDERPASS_MASTER_KEY_FILE: join(folder, 'master-key'),
  });

  // The first start, as docs/operations.md says.
  await control.command('migrate');
  const names = ['--host', 'eu.localhost', '--wildcard', 'eu-tunnels.localhost', '--description', 'Europe'];
  await control.command('regions', 'add', 'eu', ...names, '--https-port', String(ports.https));
  const edgeKey = join(folder, 'edge-key');
  writeFileSync(edgeKey, await control.command('regions', 'key', 'eu'), { mode: 0o600 });
  for (const name of ['edge-a', 'edge-b'])
    contain(name, {
      UNDERPASS_EDGE_KEY_FILE: edgeKey,
      UNDERPASS_PUBLIC_HTTPS_PORT: String(ports.https),
      NODE_EXTRA_CA_CERTS: caFile,
    });
  await Promise.all([...containers.values()].map((container) => container.replace()));

  const [, link = ''] = (await control.process?.seen(/(http\S+\/magiclink\/\S+)/)) ?? [];
  const account = await signInBy(origin, link, `http://${control.env.UNDERPASS_CONTROL_LISTEN}:8400`);
  const body = { name: 'web', region: 'eu', type: 'http', ingressDomains: [], proxyProtocol: '' };
  assert.equal((await account.call('POST', `/api/tunnels?project=${account.project}`, body)).status, 200);
  const { url, token = '', ingressDomains } = await tunnelCreated(account, 'web');
  writeFileSync(join(folder, 'token'), token, { mode: 0o600 });
  const flags = ['--url', url, '--token-file', join(folder, 'token'), '--upstream', await startEchoUpstream(t)];
  await startProcess(t, ['client/main.ts', 'http', ...flags]).seen(/ connected /);
  const caPem = readFileSync(join(folder, 'control/ca.pem'), 'utf8');
  const door = { port: ports.https, host: ingressDomains[0]?.name ?? '', caPem };
  await visitUntil(door, 200);

  const redirect = getPlain({ host: '127.0.0.1', port: ports.http, path: '/a', headers: { host: console } });
  const [{ statusCode, headers }] = await once(redirect, 'response');
  assert.deepEqual([statusCode, headers.location], [308, `https://${console}/a`]);

  const before = [...containers.values()].map((container) => container.process?.pid);
  const arrivals = startArrivals(t, door, 15);
  const calls = keepCalling(t, ports.https, readFileSync(caFile), account);
  writeFileSync(join(folder, 'replace.sh'), localise(readFileSync(join(shipped, 'replace.sh'), 'utf8')));
  const PATH = `${await writeDocker(t, stage, containers)}:${process.env.PATH}`;
  const { stdout } = await run('bash', [join(folder, 'replace.sh')], {
    env: { ...process.env, PATH, UNDERPASS_CLIENTS_SECONDS: '6' },
  });
  assert.equal(stdout, 'replacing control\nreplacing edge-a\nreplacing edge-b\n');
  for (const pid of before) assert.ok(![...containers.values()].some((container) => container.process?.pid === pid));

  const { statuses, visits, failures, p99Ms, slowestMs } = await arrivals.stop();
  const { 200: good = 0, ...bad } = calls();
  t.diagnostic(JSON.stringify({ visits, p99Ms: Math.round(p99Ms), slowestMs: Math.round(slowestMs), calls: good }));
  assert.deepEqual({ failures, bad }, { failures: [], bad: {} });
  assert.deepEqual(statuses, { 200: visits });
  assert.ok(good > 0);
});
