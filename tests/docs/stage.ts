// Where the commands of a page run: a product with a test DNS server, a folder, and an environment in which `underpass` is on
// PATH, and curl and the HTTP proxy connect every public name to the edge. They replace public DNS and a public authority, so that commands run
// unchanged.

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Domain } from '@underpass/rules/entity/entity.ts';
import { startConnectProxy } from '../helpers/connect-proxy.ts';
import { startNameServer } from '../helpers/dns.ts';
import { freePorts } from '../helpers/port.ts';
import { type Account, type Product, startProduct } from '../helpers/product.ts';
import { requireTool } from '../helpers/tool.ts';

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const example = new URL('example.mjs', import.meta.url).href;
const deploy = fileURLToPath(new URL('../../deploy', import.meta.url));

/** The system programs that commands of the docs use. */
export const tools = ['curl', 'openssl', 'nginx', 'haproxy', 'caddy', 'helm', 'jq', 'python3', 'ssh', 'sshd'] as const;

/** Ports in the docs of upstreams and of a second server. The test replaces each by a free port, so that pages can run in parallel. */
const upstreamPorts = [3000, 8080, 8081, 8082, 8401, 9080, 9443, 9444, 2222] as const;
/** curl visits from this address. It differs from the client's, so that a page can show which one an upstream sees. */
const visitorAddress = '127.0.0.9';
/** Long enough for a command that starts with a first npx. */
const commandTimeoutMs = 60_000;
const readyTimeoutMs = 30_000;

export interface DocsStage {
  readonly product: Product;
  readonly account: Account;
  readonly folder: string;
  /** Replaces the ports of the docs by those of this run. */
  localise(text: string): string;
  writeFile(name: string, text: string): Promise<void>;
  /** Runs the script and returns its output; throws with the output unless it exits with 0. */
  run(script: string): Promise<string>;
  /** Keeps the script running until the stage or the section ends; resolves when its output contains `ready`. */
  runInBackground(script: string, ready: string, forSection: boolean): Promise<void>;
  endSection(): Promise<void>;
}

export async function openStage(t: TestContext): Promise<DocsStage> {
  const dns = await startNameServer(t);
  const product = await startProduct(t, { env: { UNDERPASS_DNS_SERVERS: dns.address } });
  const account = await product.signIn();
  const folder = await mkdtemp(join(tmpdir(), 'underpass-docs-'));
  const running: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const stop of running.reverse()) await stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  await symlink(modules, join(folder, 'node_modules'));
  await symlink(deploy, join(folder, 'deploy'));
  const proxy = await startConnectProxy(t, product.ports.https);
  const env = { ...(await environment(product, await product.createApiToken(account), folder)), HTTPS_PROXY: proxy };
  const localise = await createLocalise(product);
  const prepare = () => publishRecords(dns, account);
  const ofSection: (() => Promise<void>)[] = [];
  return {
    ...{ product, account, folder, localise },
    writeFile: (name, text) => writeFile(join(folder, name), localise(text)),
    run: async (script) => {
      await prepare();
      return runScript(localise(script), folder, env);
    },
    runInBackground: async (script, ready, forSection) => {
      const { stop, isReady } = startScript(localise(script), localise(ready), folder, env);
      running.push(stop);
      await isReady;
      if (forSection) ofSection.push(stop);
    },
    endSection: async () => {
      for (const stop of ofSection.splice(0).reverse()) await stop();
    },
  };
}

/** Sets the records that a reader would set at a DNS provider: the TXT record of every domain, addresses under example.com. */
async function publishRecords(dns: Awaited<ReturnType<typeof startNameServer>>, { call, project }: Account): Promise<void> {
  const { body: domains } = await call<readonly Domain[]>('GET', `/api/domains?project=${project}`);
  for (const { apexName, challenge } of domains) dns.set('TXT', apexName, `underpass-domain-verify=${challenge}`);
  for (const name of ['shop.example.com', 'app.example.com', 'ssh.example.com']) dns.set('A', name, '127.0.0.1');
}

async function environment(product: Product, apiToken: string, folder: string): Promise<NodeJS.ProcessEnv> {
  const { https, http } = product.ports;
  const home = join(folder, '.home');
  await mkdir(home);
  const curl = `silent\nshow-error\nnoproxy = "*"\ninterface = "${visitorAddress}"\ncacert = "${product.caPath}"\nconnect-to = ":443:127.0.0.1:${https}"\nconnect-to = ":80:127.0.0.1:${http}"\n`;
  await writeFile(join(home, '.curlrc'), curl);
  return {
    HOME: home,
    // Put the required caddy before one on the PATH that may be too old.
    PATH: [
      join(modules, '.bin'),
      dirname(requireTool('caddy')),
      process.env.PATH,
      ...tools.map((tool) => dirname(requireTool(tool))),
    ].join(delimiter),
    LANG: 'C.UTF-8',
    PYTHONUNBUFFERED: '1',
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    ...product.env,
    UNDERPASS_SERVER: product.origin,
    UNDERPASS_API_TOKEN: apiToken,
    NODE_OPTIONS: `--import ${example}`,
    EXAMPLE_CA: product.caPath,
  };
}

async function createLocalise({ ports }: Product): Promise<(text: string) => string> {
  const free = await freePorts(upstreamPorts.length);
  const table = new Map<string, string>([
    ...upstreamPorts.map((port, index) => [String(port), String(free[index])] as const),
    ['8400', String(ports.control)],
    ['8443', String(ports.https)],
    ['8480', String(ports.http)],
  ]);
  const pattern = new RegExp(`(?<![\\d.])(${[...table.keys()].join('|')})(?![\\d])`, 'g');
  return (text) => text.replaceAll(pattern, (port) => table.get(port) ?? port).replaceAll('%h:443', `127.0.0.1:${ports.https}`);
}

function spawnScript(script: string, cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const seen: string[] = [];
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      seen.push(text);
      for (const listener of listeners) listener();
    });
  }
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? -1));
  });
  return { child, ended, output: () => seen.join(''), onOutput: (listener: () => void) => listeners.add(listener) };
}

/** Signals the whole process group, with the shell's children. */
function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The group has already ended.
  }
}

async function runScript(script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { child, ended, output } = spawnScript(script, cwd, env);
  const timer = setTimeout(() => killGroup(child.pid, 'SIGKILL'), commandTimeoutMs);
  const code = await ended;
  clearTimeout(timer);
  if (code !== 0) throw new Error(`ended with ${code}\n${script}\n${output()}`);
  return output();
}

function startScript(script: string, ready: string, cwd: string, env: NodeJS.ProcessEnv) {
  const { child, ended, output, onOutput } = spawnScript(script, cwd, env);
  const stop = async (): Promise<void> => {
    killGroup(child.pid, 'SIGTERM');
    const timer = setTimeout(() => killGroup(child.pid, 'SIGKILL'), 5_000);
    await ended;
    clearTimeout(timer);
  };
  const isReady = new Promise<void>((resolve, reject) => {
    const look = () => output().includes(ready) && resolve();
    onOutput(look);
    ended.then((code) => reject(new Error(`ended with ${code} before "${ready}"\n${script}\n${output()}`)), reject);
    setTimeout(() => reject(new Error(`no "${ready}" in\n${script}\n${output()}`)), readyTimeoutMs).unref();
  });
  return { stop, isReady };
}
