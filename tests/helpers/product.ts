// The whole product for a test, as `npm start` runs it: control, embedded database, one region with its edge.
// It runs in the test's process, on free ports, with a home folder that is removed when the test ends.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { DocumentNet } from '@underpass/control/visitors/programs/document.ts';
import type { Project, Role, Tunnel } from '@underpass/rules/entity/entity.ts';
import { run } from '@underpass/server/cli.ts';
import { ServerError } from '@underpass/server/process/error.ts';
import { createLog } from '@underpass/server/process/log.ts';
import { type Running, startServer } from '@underpass/server/serve/start.ts';
import { readSettings, type Settings } from '@underpass/server/settings/settings.ts';
import { freePorts } from './port.ts';

export type Environment = Readonly<Record<string, string>>;

export interface ProductOptions {
  /** Settings in addition to home and ports. */
  readonly env?: Environment;
  /** Folder of the built dashboard; without it the product serves only the API. */
  readonly dashboard?: string;
  /** Where documents about programs may lie. */
  readonly documentNet?: DocumentNet;
}

export interface Account {
  readonly email: string;
  readonly cookie: string;
  /** Id of the default project. */
  readonly project: string;
  /** Calls the API as the dashboard does: JSON in, JSON or text out. */
  call<T = unknown>(method: string, path: string, body?: unknown): Promise<Answer<T>>;
}

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

export interface Product {
  readonly origin: string;
  readonly home: string;
  readonly ports: { readonly control: number; readonly https: number; readonly http: number };
  /** What `npm start` would print. */
  readonly text: string;
  /** The settings in force, for other processes of underpass-server. */
  readonly env: Environment;
  /** Certificate of the local authority. */
  readonly caPath: string;
  readonly caPem: string;
  /** Signs in the first operator, or another user that exists. */
  signIn(email?: string): Promise<Account>;
  /** A token for `Authorization: Bearer` and UNDERPASS_API_TOKEN. */
  createApiToken(account: Account, role?: Role): Promise<string>;
  /** Runs one command of underpass-server; returns its standard output, throws unless it exits with 0. */
  operate(...argv: string[]): Promise<string>;
  stop(): Promise<void>;
}

/** Starts again if another program takes a port between finding and opening it. */
const maxStarts = 5;

export async function startProduct(t: TestContext, options: ProductOptions = {}): Promise<Product> {
  const home = await mkdtemp(join(tmpdir(), 'underpass-product-'));
  const stops: (() => Promise<void>)[] = [];
  // Stop and remove in one hook: hooks run in the order of their registration, and a running server writes to its home.
  t.after(async () => {
    for (const stop of stops) await stop();
    await rm(home, { recursive: true, force: true, maxRetries: 3 });
  });
  for (let attempt = 1; ; attempt += 1) {
    try {
      const product = await startOnce(home, options);
      stops.push(product.stop);
      return product;
    } catch (error) {
      if (attempt === maxStarts || !(error instanceof ServerError) || error.code !== 'port-in-use') throw error;
    }
  }
}

async function startOnce(home: string, { env: extra = {}, dashboard, documentNet }: ProductOptions): Promise<Product> {
  const [control = 0, https = 0, http = 0] = await freePorts(3);
  const env: Environment = {
    UNDERPASS_HOME: home,
    UNDERPASS_PORT: String(control),
    UNDERPASS_EDGE_HTTPS_PORT: String(https),
    UNDERPASS_EDGE_HTTP_PORT: String(http),
    UNDERPASS_LOG: 'error',
    ...(dashboard === undefined ? {} : { UNDERPASS_DASHBOARD: dashboard }),
    ...extra,
  };
  const settings = settingsOf(env);
  const replaced = documentNet === undefined ? {} : { documentNet };
  const running = await startServer(settings, createLog(settings.log), replaced);
  return createProduct(running, settings, env);
}

function settingsOf(env: Environment): Settings {
  const result = readSettings(env, () => '');
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.settings;
}

async function createProduct(running: Running, { origin, home }: Settings, env: Environment): Promise<Product> {
  const { control = 0, https = 0, http = 0 } = running.ports;
  const caPath = join(home, 'ca.pem');
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= running.close();
    return stopped;
  };
  const operate = (...argv: string[]): Promise<string> => operateWith(env, argv);
  return {
    origin,
    home,
    ports: { control, https, http },
    text: running.text,
    env,
    caPath,
    caPem: await readFile(caPath, 'utf8').catch(() => ''),
    signIn: async (email) => signInBy(origin, JSON.parse(await operate('login-link', ...(email ? [email] : []), '--json')).url),
    createApiToken,
    operate,
    stop,
  };
}

async function operateWith(env: Environment, argv: readonly string[]): Promise<string> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(argv, {
    stdout: { write: (text) => void out.push(text) },
    stderr: { write: (text) => void err.push(text) },
    env,
    readFile: () => '',
    readStdin: async () => '',
    now: Date.now,
    onStopSignal: () => () => {},
  });
  if (code !== 0) throw new Error(`underpass-server ${argv.join(' ')} ended with ${code}: ${err.join('')}${out.join('')}`);
  return out.join('');
}

/** Signs in by a login link, as `npm start` prints one. `server` is where control listens, if not at its public address. */
export async function signInBy(origin: string, link: string, server = origin): Promise<Account> {
  const token = new URL(link).pathname.split('/').at(-1) ?? '';
  const response = await fetch(`${server}/auth/login`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token }),
  });
  if (!response.ok) throw new Error(`sign-in answers ${response.status}: ${await response.text()}`);
  const cookie = response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const call: Account['call'] = (method, path, body) => callAs(server, { cookie, origin }, method, path, body);
  const { body: user } = await call<{ email: string; defaultProject: string }>('GET', '/api/user');
  const { body: projects } = await call<readonly Project[]>('GET', '/api/projects');
  return { email: user.email, cookie, project: user.defaultProject || (projects[0]?.id ?? ''), call };
}

/** The same browser at another process of the same installation, which browsers know by `origin`. */
export function accountAt(account: Account, origin: string, server: string): Account {
  return {
    ...account,
    call: (method, path, body) => callAs(server, { cookie: account.cookie, origin }, method, path, body),
  };
}

async function callAs<T>(
  server: string,
  headers: Record<string, string>,
  method: string,
  path: string,
  body: unknown,
): Promise<Answer<T>> {
  const content =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { ...headers, 'content-type': 'application/json' } };
  const response = await fetch(`${server}${path}`, { method, headers, ...content });
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return { status: response.status, body: (isJson ? await response.json() : await response.text()) as T };
}

export async function createApiToken({ call, project }: Account, role: Role = 'owner'): Promise<string> {
  const { status, body } = await call<{ token: string }>('POST', `/api/tokens?project=${project}`, {
    name: `test ${role}`,
    role,
  });
  if (status !== 200 && status !== 201) throw new Error(`the API token was refused: ${status} ${JSON.stringify(body)}`);
  return body.token;
}

/** Waits until an edge serves the tunnel. */
export async function tunnelCreated({ call, project }: Account, name: string, withinMs = 20_000): Promise<Tunnel> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const { body } = await call<Tunnel>('GET', `/api/tunnels/${name}?project=${project}`);
    if (body.status === 'Created') return body;
    if (performance.now() > deadline) throw new Error(`tunnel ${name} is still ${body.status}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
