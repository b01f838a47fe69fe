// Healthy installations of each documented kind, in use and operated as documented: no alert may fire on them.
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { startDns, startPebble } from '@underpass/control/edges/certificate/test-kit.ts';
import { startUpstream } from '@underpass/tests/chaos/stage.ts';
import { keepVisiting } from '@underpass/tests/helpers/load.ts';
import { freePorts } from '@underpass/tests/helpers/port.ts';
import { startProcess, temporaryHome } from '@underpass/tests/helpers/process.ts';
import { type Account, signInBy, tunnelCreated } from '@underpass/tests/helpers/product.ts';
import { startPrometheus, type Watcher } from './alarms-prometheus.ts';
import { createGiver, startAlarmStage, startClients } from './alarms-stage.ts';
import { sleep } from './scale-region.ts';

/** One that runs: what an operator does to it in the middle, and who watches. */
interface Healthy {
  readonly kind: string;
  readonly watcher: Watcher;
  readonly operate: () => Promise<void>;
}

async function commandIn(t: TestContext, env: Record<string, string>, ...args: readonly string[]): Promise<string> {
  const command = startProcess(t, ['server/main.ts', ...args], env);
  await once(command.child, 'close');
  if (command.child.exitCode !== 0) throw new Error(`${args.join(' ')}: ${command.text()}`);
  return command.text();
}

/** A person with the dashboard open, who also creates and deletes tunnels. */
function keepWorking(t: TestContext, { call, project }: Account): void {
  let stopped = false;
  t.after(() => {
    stopped = true;
  });
  const run = async (): Promise<void> => {
    for (let index = 0; !stopped; index++) {
      const body = { name: `made-${index}`, region: 'eu', type: 'http', ingressDomains: [], proxyProtocol: '' };
      await call('POST', `/api/tunnels?project=${project}`, body).catch(() => {});
      await sleep(5_000);
      await call('DELETE', `/api/tunnels/made-${index}?project=${project}`).catch(() => {});
      await sleep(5_000);
    }
  };
  void run();
}

/** A single server with a client, which is upgraded and backed up. */
async function startSingle(t: TestContext, kind: string, factor: number, more: Record<string, string>): Promise<Healthy> {
  const home = await temporaryHome(t);
  const [control = 0, https = 0, http = 0, metrics = 0] = await freePorts(4);
  const env = {
    UNDERPASS_HOME: home,
    UNDERPASS_PORT: String(control),
    UNDERPASS_EDGE_HTTPS_PORT: String(https),
    UNDERPASS_EDGE_HTTP_PORT: String(http),
    UNDERPASS_REGION: 'eu',
    UNDERPASS_DATA_PLANE_HOST: 'eu.localhost',
    UNDERPASS_WILDCARD_DOMAIN: 'eu-tunnels.localhost',
    UNDERPASS_METRICS_PORT: String(metrics),
    UNDERPASS_DRAIN_SECONDS: '10',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    ...more,
  };
  const server = startProcess(t, ['server/main.ts', 'start'], env);
  await server.listening(metrics);
  const watcher = await startPrometheus(t, { server: metrics }, factor);
  const [, link = ''] = await server.seen(/(http\S+\/magiclink\/\S+)/);
  const account = await signInBy(`http://localhost:${control}`, link);
  const body = { name: 'web', region: 'eu', type: 'http', ingressDomains: [], proxyProtocol: '' };
  await account.call('POST', `/api/tunnels?project=${account.project}`, body);
  const { url, token = '', ingressDomains } = await tunnelCreated(account, 'web', 60_000);
  const tokenFile = join(home, 'web.token');
  await writeFile(tokenFile, token, { mode: 0o600 });
  const flags = ['--url', url, '--token-file', tokenFile, '--upstream', await startUpstream(t)];
  // The client trusts the test's authority.
  const trusted = more.NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS: more.NODE_EXTRA_CA_CERTS };
  const client = startProcess(t, ['client/main.ts', 'http', ...flags], { ...trusted, NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  await client.seen(/ connected /);
  const { readFile } = await import('node:fs/promises');
  const caPem = await readFile(more.NODE_EXTRA_CA_CERTS ?? join(home, 'ca.pem'), 'utf8').catch(() => '');
  keepVisiting(t, { port: https, host: ingressDomains[0]?.name ?? '', caPem }, { pauseMs: 200 });
  keepWorking(t, account);
  const operate = async (): Promise<void> => {
    await commandIn(t, env, 'backup', join(home, 'backup.jsonl'), '--every', '24');
    await commandIn(t, env, 'upgrade');
  };
  return { kind, watcher, operate };
}

/** Certificates of the authority for its own names; the wildcard cannot be had, so generated names get their own. */
async function withAuthority(t: TestContext, factor: number): Promise<Healthy> {
  const folder = await temporaryHome(t);
  const [https = 0, http = 0] = await freePorts(2);
  const dns = await startDns(folder, 'localhost');
  t.after(() => dns.close());
  const pebble = await startPebble(folder, dns.port, { http, tls: https });
  t.after(() => pebble.close());
  const caFile = join(folder, 'pebble-ca.pem');
  await writeFile(caFile, pebble.ca);
  const started = await startSingle(t, 'single server, ACME without a wildcard', factor, {
    UNDERPASS_EDGE_HTTPS_PORT: String(https),
    UNDERPASS_EDGE_HTTP_PORT: String(http),
    UNDERPASS_ACME_DIRECTORY: pebble.directory,
    UNDERPASS_ACME_CA_FILE: caFile,
    UNDERPASS_DNS_SERVERS: `127.0.0.1:${dns.port}`,
  });
  return started;
}

async function withFiles(t: TestContext, factor: number): Promise<Healthy> {
  const folder = await temporaryHome(t);
  const { caPem } = await createGiver(join(folder, 'certificates'), ['eu.localhost', '*.eu-tunnels.localhost']);
  const caFile = join(folder, 'root.pem');
  await writeFile(caFile, caPem);
  return startSingle(t, 'single server, certificates as files', factor, {
    UNDERPASS_CERTIFICATES: join(folder, 'certificates'),
    NODE_EXTRA_CA_CERTS: caFile,
  });
}

/** Control and two edges, each of which is upgraded. */
async function startApart(t: TestContext, factor: number): Promise<Healthy> {
  const stage = await startAlarmStage(t, factor);
  await startClients(stage, await startUpstream(t));
  for (const { host } of stage.tunnels) keepVisiting(t, { host, port: stage.front.port, caPem: stage.caPem }, { pauseMs: 1_000 });
  keepWorking(t, stage.region.account);
  const operate = async (): Promise<void> => {
    await commandIn(t, { ...stage.env }, 'upgrade');
    for (const { home } of stage.edges) await commandIn(t, { ...stage.edgeEnv, UNDERPASS_HOME: home }, 'upgrade');
  };
  return { kind: 'control, two edges, Postgres, NATS', watcher: stage.watcher, operate };
}

/** Returns what fired, with the kind on which it did. What was about to fire is noted only. */
export async function startHealthy(
  t: TestContext,
  factor: number,
  forMs: number,
  note: (text: string) => void,
): Promise<readonly string[]> {
  const all = [
    await startSingle(t, 'single server, local authority', factor, {}),
    await withFiles(t, factor),
    await withAuthority(t, factor),
    await startApart(t, factor),
  ];
  note(`${all.length} healthy installations run`);
  await sleep(forMs / 2);
  for (const { operate } of all) await operate();
  note('backed up and upgraded');
  await sleep(forMs / 2);
  const wrong: string[] = [];
  for (const { kind, watcher } of all) {
    for (const line of await watcher.history()) {
      note(`${kind}: ${line}`);
      if (line.includes(' firing')) wrong.push(`${kind}: ${line}`);
    }
  }
  return wrong;
}
