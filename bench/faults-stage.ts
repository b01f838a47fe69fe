// What the fault table breaks: two controls on Postgres and NATS, three edges of one region, one of another, haproxy in front,
// and two clients that carry five http tunnels and an ingress tunnel, each a process of its own. Certificates of users' domains come from pebble, mails go to a sink.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { startPebble } from '@underpass/control/edges/certificate/test-kit.ts';
import { createRoot, issueLeaf } from '@underpass/control/edges/certificate/x509.ts';
import { startPostgres, type TestPostgres } from '@underpass/control/test-kit-postgres.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { type NameServer, startNameServer } from '@underpass/tests/helpers/dns.ts';
import { startNats, type TestNats } from '@underpass/tests/helpers/nats.ts';
import { freePorts } from '@underpass/tests/helpers/port.ts';
import { type ProcessOf, startProcess, temporaryHome } from '@underpass/tests/helpers/process.ts';
import type { Account } from '@underpass/tests/helpers/product.ts';
import {
  createRegion,
  figureOf,
  hopSettings,
  type RegionTunnel,
  type StartedEdge,
  type StartedRegion,
  startRegion,
} from '@underpass/tests/helpers/region.ts';
import type { Door } from '@underpass/tests/helpers/visitor.ts';
import { type Backend, type FaultsBalancer, noteEnd, startFaultsBalancer } from './faults-balancer.ts';
import { startMixedUpstream } from './soak-traffic.ts';

/** A part that faults end, stop and start again. */
export interface Part {
  readonly name: string;
  readonly process: () => ProcessOf;
  readonly start: () => Promise<void>;
}

export interface EdgePart extends Part {
  readonly edge: StartedEdge;
  readonly region: string;
  /** Set while a fault has it. */
  isAway: boolean;
}

export interface FaultStage {
  readonly controls: readonly [Part, Part];
  readonly edges: readonly EdgePart[];
  readonly clients: readonly [Part, Part];
  readonly postgres: TestPostgres;
  readonly nats: TestNats;
  readonly balancer: FaultsBalancer;
  readonly names: NameServer;
  readonly region: StartedRegion;
  /** The file from which controls read the address of the database when they start. */
  readonly databaseUrlFile: string;
  /** Settings of control, for commands of underpass-server. */
  readonly env: Readonly<Record<string, string>>;
  /** Mails by recipient. */
  readonly mails: ReadonlyMap<string, number>;
  readonly tunnels: readonly RegionTunnel[];
  readonly farTunnel: RegionTunnel;
  readonly ingressTunnel: RegionTunnel;
  readonly ports: { readonly eu: number; readonly us: number; readonly control: number };
  doorOf(tunnel: RegionTunnel, port: number): Door;
  /** What must be back after a fault, or the reason why it is not. */
  missing(): Promise<string | null>;
}

export const masterKey = Buffer.alloc(32, 7);
const tunnelCount = 4;
const ingressApex = 'ingress-faults.com';

/** An SMTP server that takes every mail and counts them by recipient. */
export async function startMailSink(t: TestContext): Promise<{ url: string; mails: ReadonlyMap<string, number> }> {
  const mails = new Map<string, number>();
  const server = createServer((socket) => {
    let to = '';
    let inData = false;
    let rest = '';
    const answer = (line: string): string => {
      if (inData) {
        if (line !== '.') return '';
        inData = false;
        mails.set(to, (mails.get(to) ?? 0) + 1);
        return '250 taken\r\n';
      }
      to = /^RCPT TO:<([^>]*)>/i.exec(line)?.[1] ?? to;
      inData = /^DATA/i.test(line);
      if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
      return inData ? '354 go on\r\n' : '250 ok\r\n';
    };
    socket.on('error', () => {});
    socket.setEncoding('latin1').on('data', (text: string) => {
      const lines = (rest + text).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (socket.writable) socket.write(answer(line));
    });
    socket.write('220 sink ESMTP\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { url: `smtp://127.0.0.1:${(server.address() as { port: number }).port}`, mails };
}

interface Certificates {
  readonly caPem: string;
  /** The certificate of the upstream of the ingress tunnel. */
  readonly upstream: { readonly cert: string; readonly key: string };
}

/** Certificates of both regions' own names as files, as from an operator's own authority. */
async function giveCertificates(folder: string): Promise<Certificates> {
  const span = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 86_400_000) };
  const root = await createRoot('faults', span);
  const leaf = await issueLeaf(
    root,
    ['eu', 'us'].flatMap((name) => [`${name}.localhost`, `*.${name}-tunnels.localhost`]),
    span,
  );
  await mkdir(folder);
  await writeFile(join(folder, 'regions.crt'), leaf.certificatePem);
  await writeFile(join(folder, 'regions.key'), leaf.privateKeyPem);
  const upstream = await issueLeaf(root, [ingressApex], span);
  return { caPem: root.certificatePem, upstream: { cert: upstream.certificatePem, key: upstream.privateKeyPem } };
}

/** Ends TLS for the ingress tunnel, and passes all on to the upstream of the others. */
async function startTlsUpstream(t: TestContext, options: Certificates['upstream'], upstream: string): Promise<string> {
  const server = createTlsServer(options, (socket) => {
    const inner = connect(Number(new URL(upstream).port), '127.0.0.1');
    socket.on('error', () => inner.destroy());
    inner.on('error', () => socket.destroy());
    socket.pipe(inner).pipe(socket);
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `443=127.0.0.1:${(server.address() as { port: number }).port}`;
}

export async function verifyDomain(names: NameServer, { call, project }: Account, apexName: string): Promise<void> {
  const query = `?project=${project}`;
  const { body } = await call<{ challenge: string }>('POST', `/api/domains${query}`, { name: apexName });
  names.set('TXT', apexName, `underpass-domain-verify=${body.challenge}`);
  const { body: domain } = await call<{ verified: boolean }>('POST', `/api/domains/${apexName}/verify${query}`);
  if (!domain.verified) throw new Error(`${apexName} was not verified: ${JSON.stringify(domain)}`);
}

function partOf(name: string, process: () => ProcessOf, restart: () => Promise<void>): Part {
  noteEnd(name, process());
  const start = async (): Promise<void> => {
    await restart();
    noteEnd(name, process());
  };
  return { name, process, start };
}

const balancerAddress = '127.0.0.2';

export async function startFaultStage(t: TestContext): Promise<FaultStage> {
  const folder = await temporaryHome(t);
  const [eu = 0, us = 0, http = 0, control = 0] = await freePorts(4);
  const ports = { eu, us, http, control };
  const { caPem, upstream: upstreamLeaf } = await giveCertificates(join(folder, 'certificates'));
  const caFile = join(folder, 'root.pem');
  await writeFile(caFile, caPem);
  const postgres = await startPostgres({ fsync: true });
  t.after(() => postgres.close());
  const nats = await startNats(t);
  const names = await startNameServer(t);
  for (const name of ['eu.localhost', 'us.localhost']) names.set('A', name, '127.0.0.1');
  const pebble = await startPebble(folder, Number(new URL(`dns://${names.address}`).port), { http, tls: eu });
  t.after(() => pebble.close());
  await writeFile(join(folder, 'pebble.pem'), pebble.ca);
  const sink = await startMailSink(t);
  const databaseUrlFile = join(folder, 'database-url');
  await writeFile(databaseUrlFile, await postgres.createDatabase());
  const env = {
    UNDERPASS_REPLICAS: '2',
    UNDERPASS_MASTER_KEY: masterKey.toString('base64'),
    DATABASE_URL_FILE: databaseUrlFile,
    NATS_URL: nats.url,
    SMTP_URL: sink.url,
    UNDERPASS_CERTIFICATES: join(folder, 'certificates'),
    UNDERPASS_ACME_DIRECTORY: pebble.directory,
    UNDERPASS_ACME_CA_FILE: join(folder, 'pebble.pem'),
    UNDERPASS_DNS_SERVERS: names.address,
    UNDERPASS_PUBLIC_HTTPS_PORT: String(eu),
  };
  const region = await startRegion(t, eu, env);
  const second = await region.startSecondControl();
  const farKey = await createRegion(region.account, 'us', us);

  const startEdge = async (name: string, more: Record<string, string> = {}): Promise<EdgePart> => {
    const edge = await region.startEdge({
      env: {
        ...(await hopSettings()),
        UNDERPASS_CONTROL_URL: `http://localhost:${control}`,
        UNDERPASS_TRUSTED_BALANCERS: balancerAddress,
        UNDERPASS_PUBLIC_HTTPS_PORT: String(eu),
        ...more,
      },
    });
    const part = partOf(name, () => edge.process, edge.restart);
    return { ...part, edge, region: more.UNDERPASS_REGION ?? 'eu', isAway: false };
  };
  const controlBackends: readonly Backend[] = [region.controlPort, second.port].map((port, at) => ({
    ...{ name: `control-${at + 1}`, port, checkPort: port, proxy: false },
  }));
  // The edges dial control through the balancer, and the balancer must know their ports: it starts twice.
  const first = await startFaultsBalancer(t, {
    ...{ folder, address: balancerAddress, ports, control: controlBackends, eu: [], us: [] },
  });
  const far = { UNDERPASS_REGION: 'us', UNDERPASS_DATA_PLANE_HOST: 'us.localhost', UNDERPASS_EDGE_KEY: farKey };
  const edges = await Promise.all([
    startEdge('edge-1'),
    startEdge('edge-2'),
    startEdge('edge-3'),
    startEdge('far-edge', { ...far, UNDERPASS_PUBLIC_HTTPS_PORT: String(us) }),
  ]);
  await first.end();
  const backendsOf = async (wanted: string): Promise<readonly Backend[]> =>
    edges
      .filter(({ region: name }) => name === wanted)
      .map(({ name, edge }) => ({ name, port: edge.port, httpPort: edge.httpPort, checkPort: edge.metricsPort, proxy: true }));
  const balancer = await startFaultsBalancer(t, {
    ...{
      folder,
      address: balancerAddress,
      ports,
      control: controlBackends,
      eu: await backendsOf('eu'),
      us: await backendsOf('us'),
    },
  });

  const upstream = await startMixedUpstream(t);
  const tunnels: RegionTunnel[] = [];
  for (let index = 1; index <= tunnelCount; index++) tunnels.push(await region.createTunnel(`web-${index}`));
  const farTunnel = await region.createTunnel('far', undefined, 'us');
  await verifyDomain(names, region.account, ingressApex);
  const ingressTunnel = await region.createTunnel('ingress', undefined, 'eu', ingressApex);
  const tlsUpstream = await startTlsUpstream(t, upstreamLeaf, upstream);
  const config = join(folder, 'underpass.yaml');
  const lineOf = ({ name, url, tokenFile }: RegionTunnel, type: string, to: string): string =>
    `  - { name: ${name}, type: ${type}, url: "${url}", token-file: ${tokenFile}, upstream: "${to}", ca: ${caFile} }`;
  const lines = [...tunnels, farTunnel].map((each) => lineOf(each, 'http', upstream));
  lines.push(lineOf(ingressTunnel, 'ingress', tlsUpstream));
  await writeFile(config, `tunnels:\n${lines.join('\n')}\n`);
  const startClient = async (name: string): Promise<Part> => {
    const start = async (): Promise<ProcessOf> => {
      const started = startProcess(t, ['client/main.ts', 'run', '--config', config]);
      await started.seen(/ connected /);
      return started;
    };
    let running = await start();
    return partOf(
      name,
      () => running,
      async () => {
        running = await start();
      },
    );
  };
  const clients = [await startClient('client-1'), await startClient('client-2')] as const;

  const carriers = async (wanted: string): Promise<number> => {
    const figures = edges.filter((each) => each.region === wanted).map(({ edge }) => figureOf(edge, 'underpass_edge_clients'));
    return (await Promise.all(figures)).reduce((sum, figure) => sum + figure, 0);
  };
  const missing = async (): Promise<string | null> => {
    // A client has a carrier at each of three edges for each tunnel; at the one edge of the other region it may have one.
    const [near, away] = [await carriers('eu'), await carriers('us')];
    if (near < (tunnelCount + 1) * 2 * 3 || away < 2) return `${near} and ${away} carriers`;
    for (const { name, edge } of edges)
      if ((await figureOf(edge, 'underpass_edge_feed_connected')) !== 1) return `${name} has no feed`;
    const down = await balancer.down();
    return down.length > 0 ? `${down.join(', ')} down` : null;
  };
  const stage: FaultStage = {
    controls: [
      partOf('control-1', () => region.control, region.restartControl),
      partOf('control-2', () => second.process, second.restart),
    ],
    ...{ edges, clients, postgres, nats, balancer, names, region, databaseUrlFile, tunnels, farTunnel, ingressTunnel, ports },
    env: { ...env, UNDERPASS_ROLE: 'control', UNDERPASS_HOME: region.home },
    mails: sink.mails,
    doorOf: ({ host }, port) => ({ host, port, caPem }),
    missing: () => missing().catch((error: Error) => error.message),
  };
  await eventually(stage.missing, (reason) => reason === null, 120_000);
  return stage;
}

/** The routes that an edge holds, from the copy that it keeps on its disk. */
export async function heldRoutes({ edge }: EdgePart): Promise<readonly { readonly id: string }[]> {
  const text = await readFile(join(edge.home, 'edge/routes.json'), 'utf8');
  return (JSON.parse(text) as { state: { tunnels: { id: string }[] } }).state.tunnels;
}
