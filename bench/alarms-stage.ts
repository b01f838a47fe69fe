// What the alerts watch: control on Postgres and NATS with given certificates, two edges that pass visitors on to each other,
// clients and visitors; and single servers of each documented kind.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createRoot, issueLeaf } from '@underpass/control/edges/certificate/x509.ts';
import { startPostgres, type TestPostgres } from '@underpass/control/test-kit-postgres.ts';
import { type Balancer, startBalancer } from '@underpass/tests/helpers/balancer.ts';
import { mountSmallDisk, type SmallDisk } from '@underpass/tests/helpers/disk.ts';
import { createFakeClock, type FakeClock } from '@underpass/tests/helpers/fake-clock.ts';
import { startNats, type TestNats } from '@underpass/tests/helpers/nats.ts';
import { freePorts } from '@underpass/tests/helpers/port.ts';
import { type ProcessOf, startProcess, temporaryHome } from '@underpass/tests/helpers/process.ts';
import { type RegionTunnel, type StartedEdge, type StartedRegion, startRegion } from '@underpass/tests/helpers/region.ts';
import { startPrometheus, type Watcher } from './alarms-prometheus.ts';
import { startMailSink } from './faults-stage.ts';

const dayMs = 86_400_000;
const tunnelCount = 6;
const clientCount = 2;

export interface AlarmStage {
  readonly t: TestContext;
  readonly region: StartedRegion;
  readonly edges: readonly [StartedEdge, StartedEdge];
  readonly postgres: TestPostgres;
  readonly databaseUrl: string;
  readonly nats: TestNats;
  readonly clock: FakeClock;
  /** Stands in front of both edges. */
  readonly front: Balancer;
  /** Holds the home folder of the first edge. */
  readonly disk: SmallDisk;
  /** Lie between the second edge and control, between the first edge and the second's hop port, and to the mail server. */
  readonly paths: { readonly feed: Balancer; readonly hop: Balancer; readonly mail: Balancer };
  readonly tunnels: readonly RegionTunnel[];
  readonly watcher: Watcher;
  readonly targets: Readonly<Record<string, number>>;
  /** Settings of control, for commands of underpass-server. */
  readonly env: Readonly<Record<string, string>>;
  readonly caPem: string;
  /** Settings of another edge of the region, whose key is right. */
  readonly edgeEnv: Readonly<Record<string, string>>;
  startClient(upstream: string): Promise<ProcessOf>;
  /** Replaces the given certificates. */
  giveCertificates(days: number): Promise<void>;
}

/** A balancer with one backend that a break takes away. */
async function pathTo(t: TestContext, port: number): Promise<Balancer> {
  const path = await startBalancer(t);
  path.backends = [port];
  return path;
}

/** Writes certificates of the region's own names as files; returns the authority. */
export async function createGiver(
  folder: string,
  names: readonly string[],
): Promise<{ readonly caPem: string; readonly give: (days: number) => Promise<void> }> {
  const span = (days: number) => ({ notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + days * dayMs) });
  const root = await createRoot('alarms', span(365));
  await mkdir(folder, { recursive: true });
  const give = async (days: number): Promise<void> => {
    const leaf = await issueLeaf(root, names, span(days));
    await writeFile(join(folder, 'region.key'), leaf.privateKeyPem);
    await writeFile(join(folder, 'region.crt'), leaf.certificatePem);
  };
  await give(60);
  return { caPem: root.certificatePem, give };
}

export async function startAlarmStage(t: TestContext, factor: number): Promise<AlarmStage> {
  const folder = await temporaryHome(t);
  const [metrics = 0, firstHop = 0, hop = 0] = await freePorts(3);
  const front = await startBalancer(t);
  const https = front.port;
  const certificates = join(folder, 'certificates');
  const { caPem, give } = await createGiver(certificates, ['eu.localhost', '*.eu-tunnels.localhost']);
  const postgres = await startPostgres({ fsync: true });
  t.after(() => postgres.close());
  const databaseUrl = await postgres.createDatabase();
  const nats = await startNats(t);
  const mail = await pathTo(t, Number(new URL((await startMailSink(t)).url).port));
  const clock = await createFakeClock(t);
  const env = {
    UNDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    UNDERPASS_METRICS_PORT: String(metrics),
    DATABASE_URL: databaseUrl,
    NATS_URL: nats.url,
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
    UNDERPASS_CERTIFICATES: certificates,
    UNDERPASS_PUBLIC_HTTPS_PORT: String(https),
    ...clock.env,
  };
  const region = await startRegion(t, https, env);
  const paths = { feed: await pathTo(t, region.controlPort), hop: await pathTo(t, hop), mail };
  const disk = await mountSmallDisk(t, 4);
  const edges = [
    await region.startEdge({
      home: disk.path,
      env: {
        UNDERPASS_PUBLIC_HTTPS_PORT: String(https),
        UNDERPASS_HOP_PORT: String(firstHop),
        UNDERPASS_HOP_ADDRESS: `127.0.0.1:${firstHop}`,
      },
    }),
    await region.startEdge({
      env: {
        UNDERPASS_CONTROL_URL: `http://localhost:${paths.feed.port}`,
        UNDERPASS_PUBLIC_HTTPS_PORT: String(https),
        UNDERPASS_HOP_PORT: String(hop),
        UNDERPASS_HOP_ADDRESS: `127.0.0.1:${paths.hop.port}`,
      },
    }),
  ] as const;
  front.backends = edges.map(({ port }) => port);
  const { body: key } = await region.account.call<{ key: string }>('POST', '/api/operator/regions/eu/key');
  const tunnels: RegionTunnel[] = [];
  for (let index = 1; index <= tunnelCount; index++) tunnels.push(await region.createTunnel(`web-${index}`));
  const caFile = join(folder, 'root.pem');
  await writeFile(caFile, caPem);
  const startClient = async (upstream: string): Promise<ProcessOf> => {
    const config = join(folder, 'underpass.yaml');
    const lines = tunnels.map(
      ({ name, url, tokenFile }) =>
        `  - { name: ${name}, type: http, url: "${url}", token-file: ${tokenFile}, upstream: "${upstream}", ca: ${caFile} }`,
    );
    await writeFile(config, `tunnels:\n${lines.join('\n')}\n`);
    const client = startProcess(t, ['client/main.ts', 'run', '--config', config]);
    await client.seen(/ connected /);
    return client;
  };
  const targets = { control: metrics, 'edge-1': edges[0].metricsPort, 'edge-2': edges[1].metricsPort };
  return {
    ...{ t, region, edges, postgres, databaseUrl, nats, clock, disk, front, paths, tunnels, targets, caPem, startClient },
    env: { ...env, UNDERPASS_ROLE: 'control', UNDERPASS_HOME: region.home },
    edgeEnv: {
      UNDERPASS_ROLE: 'edge',
      UNDERPASS_CONTROL_URL: `http://localhost:${region.controlPort}`,
      UNDERPASS_EDGE_KEY: key.key,
      UNDERPASS_REGION: 'eu',
      UNDERPASS_DATA_PLANE_HOST: 'eu.localhost',
      UNDERPASS_PUBLIC_HTTPS_PORT: String(https),
    },
    giveCertificates: give,
    watcher: await startPrometheus(t, targets, factor),
  };
}

export async function startClients(stage: AlarmStage, upstream: string): Promise<ProcessOf[]> {
  const clients: ProcessOf[] = [];
  for (let index = 0; index < clientCount; index++) clients.push(await stage.startClient(upstream));
  return clients;
}
