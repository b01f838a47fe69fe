// Thousands of clients lose their edge at the same moment. Their attempts to reconnect are spread out, visitors are served
// throughout, and the edge holds nothing of the clients after they end. 2,000 clients by default, so that two busy cores
// suffice; HERD=10000 sets another number.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { report } from 'node:process';
import { type TestContext, test } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { startFakeControl } from '../helpers/fake-control.ts';
import { watchFootprints } from '../helpers/footprint.ts';
import { startHerd } from '../helpers/herd.ts';
import { keepVisiting } from '../helpers/load.ts';
import { freePorts } from '../helpers/port.ts';
import { type ProcessOf, startProcess, temporaryHome } from '../helpers/process.ts';
import { figureOf } from '../helpers/region.ts';
import { type Door, visit, visitUntil } from '../helpers/visitor.ts';
import { startUpstream } from './stage.ts';

/** The CLI resolves names under localhost without DNS. */
const regionHost = 'region.localhost';
/** An edge accepts 64 clients of one tunnel. */
const clientsPerTunnel = 60;

/** Twice what was measured: a TLS connection and its session take about 80 kB. */
const mostBytesEach = 160_000;
/** An idle machine with two cores needs 30 s for 10,000 clients; other tests may run at the same time. */
const allBackMs = 240_000;
/** The client that serves the visitors competes with all the others. */
const firstVisitMs = 60_000;
/** A client may wait several seconds for its turn and retries; a visitor must not have to. */
const visitMs = 8_000;
/** Pauses are random over their whole range, which is two seconds after the first failure. In step, nearly all would end together. */
const mostInOneTenth = 0.2;

/** Half of the files that one process may open, at most: an edge keeps a reserve for visitors. */
function herdSize(): number {
  Object.assign(report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  const limit = Number(userLimits?.open_files?.soft);
  const wanted = Number(process.env.HERD ?? 2_000);
  return Number.isFinite(limit) ? Math.min(wanted, Math.floor(limit / 2)) : wanted;
}

const tokenOf = (index: number): string => `token-${index}`;

const tunnelOf = (index: number): FeedTunnel => ({
  id: `t${index}`,
  projectId: 'p',
  name: `t${index}`,
  type: 'http',
  hosts: [`t${index}.tunnels.test`],
  tokens: [{ hash: createHash('sha256').update(tokenOf(index)).digest('hex'), expiresAtMs: null }],
  allowList: ['0.0.0.0/0', '::/0'],
  proxyProtocol: '',
  suspended: false,
});

interface Scene {
  readonly edge: { process: ProcessOf; readonly port: number; readonly metricsPort: number; start(): Promise<void> };
  readonly door: Door;
  readonly target: { readonly port: number; readonly host: string; readonly caPem: string; readonly tokens: readonly string[] };
}

async function setUp(t: TestContext, tunnels: number): Promise<Scene> {
  const authority = await createTestAuthority();
  const hosts = [regionHost, '*.tunnels.test'];
  const { keyPem, chainPem } = await authority.issue(hosts);
  const certificate = { id: 'c', hosts, certificatePem: chainPem, privateKeyPem: keyPem, notAfterMs: Date.now() + 86_400_000 };
  const state = {
    tunnels: Array.from({ length: tunnels + 1 }, (_, index) => tunnelOf(index)),
    certificates: [certificate],
    challenges: [],
    peers: [],
  };
  const control = await startFakeControl(t, state);
  const [port = 0, http = 0, metricsPort = 0] = await freePorts(3);
  const env = {
    UNDERPASS_ROLE: 'edge',
    UNDERPASS_HOME: await temporaryHome(t),
    UNDERPASS_CONTROL_URL: control,
    UNDERPASS_EDGE_KEY: 'any-key-of-this-length',
    UNDERPASS_REGION: 'test',
    UNDERPASS_DATA_PLANE_HOST: regionHost,
    UNDERPASS_EDGE_HTTPS_PORT: String(port),
    UNDERPASS_EDGE_HTTP_PORT: String(http),
    UNDERPASS_METRICS_PORT: String(metricsPort),
  };
  const start = async (): Promise<ProcessOf> => {
    const started = startProcess(t, ['server/main.ts', 'start'], env);
    await started.seen(/ports \d+/);
    return started;
  };
  const edge: Scene['edge'] = {
    process: await start(),
    port,
    metricsPort,
    start: async () => {
      edge.process = await start();
    },
  };
  const caPem = authority.certificatePem;
  const tokens = Array.from({ length: tunnels }, (_, index) => tokenOf(index));
  // Visitors go to a separate client, so that they wait only for the edge.
  const flags = ['--url', `https://${regionHost}:${port}#ca=${authority.pin}`, '--upstream', await startUpstream(t)];
  const client = startProcess(t, ['client/main.ts', 'http', ...flags], { UNDERPASS_TOKEN: tokenOf(tunnels) });
  await client.seen(/ connected /);
  const door = { port, host: `t${tunnels}.tunnels.test`, caPem };
  return { edge, door, target: { port, host: regionHost, caPem, tokens } };
}

async function residentBytes({ pid }: ProcessOf): Promise<number> {
  return Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** The largest share of all pauses that ends within one tenth of a second, and so reaches the edge at once. */
function busiestTenth(waitsMs: readonly number[]): number {
  const tenths = Map.groupBy(waitsMs, (ms) => Math.floor(ms / 100));
  return Math.max(...tenths.values().map(({ length }) => length)) / waitsMs.length;
}

test('thousands of clients spread their reconnects after a restart of their edge, and visitors are served throughout', async (t) => {
  const size = herdSize();
  const { edge, door, target } = await setUp(t, Math.ceil(size / clientsPerTunnel));
  const comesBack = await watchFootprints(t, {
    get edge() {
      return edge.process;
    },
  });
  const before = await residentBytes(edge.process);
  const herd = startHerd(t, target, size);
  await eventually(herd.status, ({ held }) => held === size, allBackMs);
  const bytesEach = ((await residentBytes(edge.process)) - before) / size;
  assert.ok(bytesEach < mostBytesEach, `a client costs the edge ${bytesEach} bytes`);
  assert.equal((await visit(door)).status, 200);

  await herd.status();
  await edge.process.end('SIGKILL');
  await edge.start();
  const startedAt = performance.now();
  await visitUntil(door, 200, firstVisitMs);
  const firstMs = performance.now() - startedAt;
  const visitors = keepVisiting(t, door);
  const waitsMs: number[] = [];
  const heldNow = async (): Promise<number> => {
    const status = await herd.status();
    waitsMs.push(...status.waitsMs);
    return status.held;
  };
  await eventually(heldNow, (held) => held === size, allBackMs);
  const backMs = performance.now() - startedAt;
  const { statuses, visits, p99Ms } = await visitors.stop();
  const busiest = busiestTenth(waitsMs);
  t.diagnostic(
    `${size} clients at ${(bytesEach / 1e3).toFixed(0)} kB: first visit after ${firstMs.toFixed(0)} ms, all back after ${backMs.toFixed(0)} ms; ` +
      `${visits} visits in that time, p99 ${p99Ms.toFixed(0)} ms; ${(busiest * 100).toFixed(0)} % of ${waitsMs.length} waits end within one tenth of a second`,
  );
  assert.deepEqual(statuses, { 200: visits }, 'a visitor was not served');
  assert.ok(p99Ms < visitMs, `the p99 of visitors was ${p99Ms} ms`);
  assert.ok(busiest < mostInOneTenth, `${busiest} of all waits end together`);

  await herd.kill();
  // The client that serves the visitors has two carriers.
  const left = { underpass_edge_clients: 2, underpass_edge_sockets: 2, underpass_edge_streams: 0 };
  for (const [figure, most] of Object.entries(left))
    await eventually(
      () => figureOf(edge, figure),
      (count) => count === most,
    );
  await comesBack();
});
