// Control and the edges of one region, each in its own process, as in production but on one machine. Each may run from another
// copy of this repository (`tree`, previous-version.ts); without one it runs from here.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { freePorts } from './port.ts';
import { type ProcessOf, startProcess, temporaryHome } from './process.ts';
import { type Account, accountAt, signInBy, tunnelCreated } from './product.ts';
import type { Door } from './visitor.ts';

export interface StartedEdge {
  process: ProcessOf;
  readonly home: string;
  readonly port: number;
  readonly httpPort: number;
  readonly metricsPort: number;
  /** Starts the edge again on the same home and ports, after it ended. `more` adds settings. */
  restart(tree?: string, more?: Record<string, string>): Promise<void>;
}

export interface EdgeOptions {
  readonly env?: Record<string, string>;
  readonly home?: string;
  readonly tree?: string;
}

export interface RegionTunnel {
  readonly name: string;
  readonly url: string;
  readonly tokenFile: string;
  /** Host name that visitors request. */
  readonly host: string;
}

export interface SecondControl {
  process: ProcessOf;
  readonly port: number;
  readonly account: Account;
  /** Starts it again on the same port, after it ended. */
  restart(tree?: string): Promise<void>;
}

export interface StartedRegion {
  control: ProcessOf;
  /** Home folder of control. */
  readonly home: string;
  readonly controlPort: number;
  readonly account: Account;
  readonly caPem: string;
  startEdge(options?: EdgeOptions): Promise<StartedEdge>;
  /** Starts control again on the same home and port, after it ended. */
  restartControl(tree?: string): Promise<void>;
  /** Starts a second control process on the same database, and signs in there too. */
  startSecondControl(tree?: string): Promise<SecondControl>;
  /** An http tunnel with a generated host, or an ingress tunnel for this one. */
  createTunnel(name: string, account?: Account, region?: string, ingressHost?: string): Promise<RegionTunnel>;
  /** Starts `underpass http` and waits until it is connected. */
  startClient(tunnel: RegionTunnel, upstream: string, env?: Record<string, string>, tree?: string): Promise<ProcessOf>;
  doorOf(tunnel: RegionTunnel, port: number): Door;
}

const serverOf = (tree = ''): string[] => [join(tree, 'server/main.ts'), 'start'];

/** Settings that an edge needs to pass visitors on to other edges. */
export async function hopSettings(): Promise<Record<string, string>> {
  const [port = 0] = await freePorts(1);
  return { UNDERPASS_HOP_PORT: String(port), UNDERPASS_HOP_ADDRESS: `127.0.0.1:${port}` };
}

/** `httpsPort`: the public port of the region, which clients and visitors dial. */
export async function startRegion(
  t: TestContext,
  httpsPort: number,
  env: Record<string, string> = {},
  tree?: string,
): Promise<StartedRegion> {
  const home = await temporaryHome(t);
  const [port = 0] = await freePorts(1);
  const origin = `http://localhost:${port}`;
  const controlEnv = { UNDERPASS_ROLE: 'control', UNDERPASS_HOME: home, UNDERPASS_PORT: String(port), ...env };
  const control = startProcess(t, serverOf(tree), controlEnv);
  const [, link = ''] = await control.seen(/(http\S+\/magiclink\/\S+)/);
  const account = await signInBy(origin, link);
  const key = await createRegion(account, 'eu', httpsPort);
  const region: StartedRegion = {
    control,
    home,
    controlPort: port,
    account,
    // Without a local authority there is no such file.
    caPem: await readFile(join(home, 'ca.pem'), 'utf8').catch(() => ''),
    startEdge: (options = {}) => startEdge(t, origin, key, options),
    restartControl: async (next) => {
      region.control = startProcess(t, serverOf(next), controlEnv);
      await region.control.seen(/localhost:\d+/);
    },
    startSecondControl: async (next) => {
      const [second = 0] = await freePorts(1);
      const secondEnv = { ...controlEnv, UNDERPASS_PORT: String(second), UNDERPASS_ORIGIN: origin };
      const start = async (from?: string): Promise<ProcessOf> => {
        const process = startProcess(t, serverOf(from), secondEnv);
        await process.seen(/localhost:\d+/);
        return process;
      };
      const started: SecondControl = {
        process: await start(next),
        port: second,
        account: accountAt(account, origin, `http://localhost:${second}`),
        restart: async (from) => {
          started.process = await start(from);
        },
      };
      return started;
    },
    createTunnel: (name, by = account, regionName = 'eu', ingressHost = undefined) =>
      createTunnel(by, name, home, regionName, ingressHost),
    startClient: async ({ url, tokenFile }, upstream, clientEnv, from = '') => {
      const flags = ['--url', url, '--token-file', tokenFile, '--upstream', upstream];
      const client = startProcess(t, [join(from, 'client/main.ts'), 'http', ...flags], clientEnv);
      await client.seen(/ connected /);
      return client;
    },
    doorOf: ({ host }, to) => ({ port: to, host, caPem: region.caPem }),
  };
  return region;
}

/** Returns the key of its edges. */
export async function createRegion({ call }: Account, name: string, httpsPort: number): Promise<string> {
  const region = {
    name,
    description: `Region ${name}`,
    dataPlaneHost: `${name}.localhost`,
    tlsTermination: true,
    wildcardIngressDomain: `${name}-tunnels.localhost`,
    httpsPort,
  };
  const { status, body } = await call('POST', '/api/operator/regions', region);
  if (status >= 300) throw new Error(`the region was refused: ${status} ${JSON.stringify(body)}`);
  return (await call<{ key: string }>('POST', `/api/operator/regions/${name}/key`)).body.key;
}

async function startEdge(t: TestContext, origin: string, key: string, options: EdgeOptions): Promise<StartedEdge> {
  const home = options.home ?? (await temporaryHome(t));
  const [https = 0, http = 0, metrics = 0] = await freePorts(3);
  const env = {
    UNDERPASS_ROLE: 'edge',
    UNDERPASS_HOME: home,
    UNDERPASS_CONTROL_URL: origin,
    UNDERPASS_EDGE_KEY: key,
    UNDERPASS_REGION: 'eu',
    UNDERPASS_DATA_PLANE_HOST: 'eu.localhost',
    UNDERPASS_EDGE_HTTPS_PORT: String(https),
    UNDERPASS_EDGE_HTTP_PORT: String(http),
    UNDERPASS_METRICS_PORT: String(metrics),
    ...options.env,
  };
  const start = async (tree?: string, more: Record<string, string> = {}): Promise<ProcessOf> => {
    const started = startProcess(t, serverOf(tree), { ...env, ...more });
    try {
      await started.seen(/ports \d+/);
    } catch (error) {
      // Or it would keep the home folder from the next start.
      await started.end('SIGKILL');
      throw error;
    }
    return started;
  };
  const edge: StartedEdge = {
    process: await start(options.tree),
    home,
    port: https,
    httpPort: http,
    metricsPort: metrics,
    restart: async (tree, more) => {
      edge.process = await start(tree, more);
    },
  };
  return edge;
}

async function createTunnel(
  account: Account,
  name: string,
  folder: string,
  region: string,
  ingressHost?: string,
): Promise<RegionTunnel> {
  const kind =
    ingressHost === undefined ? { type: 'http', ingressDomains: [] } : { type: 'ingress', ingressDomains: [ingressHost] };
  const body = { name, region, proxyProtocol: '', ...kind };
  const { status } = await account.call('POST', `/api/tunnels?project=${account.project}`, body);
  if (status >= 300) throw new Error(`the tunnel was refused with ${status}`);
  const { url, token, ingressDomains }: Tunnel = await tunnelCreated(account, name);
  const tokenFile = join(folder, `${name}.token`);
  await writeFile(tokenFile, token ?? '', { mode: 0o600 });
  return { name, url, tokenFile, host: ingressDomains[0]?.name ?? '' };
}

/** One metric of an edge, summed over its labels. */
export async function figureOf({ metricsPort }: { readonly metricsPort: number }, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const values = text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'));
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}
