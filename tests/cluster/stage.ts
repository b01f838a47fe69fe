// The cluster in which the chart is installed: Postgres, NATS, a node whose pods are processes, an ingress controller and a balancer.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { createServer } from 'node:tls';
import { createRoot, issueLeaf } from '@underpass/control/edges/certificate/x509.ts';
import { startPostgres } from '@underpass/control/test-kit-postgres.ts';
import { stringify } from 'yaml';
import { startBalancer } from '../helpers/balancer.ts';
import { type Cluster, startCluster } from '../helpers/cluster.ts';
import { type Kubelet, startKubelet } from '../helpers/kubelet.ts';
import { type KubernetesObject, parseManifests } from '../helpers/kubernetes.ts';
import { startNats } from '../helpers/nats.ts';
import { previousVersion } from '../helpers/previous-version.ts';
import { temporaryHome } from '../helpers/process.ts';
import { followService } from '../helpers/service-proxy.ts';
import { requireTool } from '../helpers/tool.ts';

const repository = join(import.meta.dirname, '../..');
export const namespace = 'underpass';
export const release = 'up';
export const console = 'console.example.com';
const regions = ['eu', 'us'] as const;
export const dataPlane = (region: string): string => `${region}.example.com`;
const wildcard = (region: string): string => `${region}-tunnels.example.com`;

/** How late the balancer notices that a pod is ending. */
const noticeMs = 2_000;
const helmTimeoutMs = 400_000;

export interface Stage {
  readonly cluster: Cluster;
  readonly kubelet: Kubelet;
  readonly folder: string;
  readonly caPem: string;
  readonly caFile: string;
  /** Folder of certificates for every name, as from an operator's own authority. */
  readonly certificates: string;
  /** Runs helm; `values` are written to a file. Returns what helm printed. */
  helm(args: readonly string[], values?: object): Promise<HelmResult>;
  /** What helm renders for these values, hooks included. */
  render(values: object): Promise<readonly KubernetesObject[]>;
  makeSecret(name: string, data: Readonly<Record<string, string>>): Promise<void>;
  secretNames(): Promise<readonly string[]>;
}

export interface HelmResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export const chart = join(repository, 'deploy/helm/underpass');

/** What the image does for its entry point, for `exec` and for hooks. The tag says which version. */
function program(image: string, [command = '', ...args]: readonly string[]): readonly string[] {
  if (command === '/usr/bin/node') return [process.execPath, ...args];
  if (command !== 'underpass-server') throw new Error(`the image has no ${command}`);
  const tree = image.endsWith(':previous') ? previousVersion() : repository;
  return [process.execPath, join(tree, 'server/main.ts'), ...args];
}

export async function startStage(t: TestContext): Promise<Stage> {
  const folder = await temporaryHome(t);
  const hosts = ['127.0.0.1 localhost', `10.244.0.1 ${console}`, ...regions.map((name) => `127.0.0.1 ${dataPlane(name)}`)];
  await writeFile(join(folder, 'hosts'), `${hosts.join('\n')}\n`);
  execFileSync('mount', ['--bind', join(folder, 'hosts'), '/etc/hosts']);
  const cluster = await startCluster(t);
  const { certificates, caFile, caPem, leaf } = await giveCertificates(folder);
  const kubelet = await startKubelet(t, cluster, {
    program,
    entrypoint: ['underpass-server'],
    env: { NODE_ENV: 'production', NODE_EXTRA_CA_CERTS: caFile },
  });
  await cluster.mustCall('POST', '/api/v1/namespaces', {
    ...{ apiVersion: 'v1', kind: 'Namespace' },
    metadata: {
      name: namespace,
      labels: Object.fromEntries(
        ['enforce', 'warn', 'audit'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
      ),
    },
  });
  const stage = createStage(cluster, kubelet, folder, { certificates, caFile, caPem });
  await startIngressController(t, stage, leaf);
  await startLoadBalancer(t, stage);
  const postgres = await startPostgres();
  t.after(() => postgres.close());
  const nats = await startNats(t, '10.244.0.1');
  await stage.makeSecret('underpass', {
    'database-url': await postgres.createDatabase(),
    'nats-url': nats.url,
    'smtp-url': 'smtp://127.0.0.1:9',
    'master-key': randomBytes(32).toString('base64'),
  });
  return stage;
}

type Certificates = Pick<Stage, 'certificates' | 'caFile' | 'caPem'>;
type Leaf = Awaited<ReturnType<typeof issueLeaf>>;

async function giveCertificates(folder: string): Promise<Certificates & { leaf: Leaf }> {
  const span = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 86_400_000) };
  const root = await createRoot('cluster', span);
  const leaf = await issueLeaf(root, [console, ...regions.flatMap((name) => [dataPlane(name), `*.${wildcard(name)}`])], span);
  const certificates = join(folder, 'certificates');
  await mkdir(certificates);
  await writeFile(join(certificates, 'all.crt'), leaf.certificatePem);
  await writeFile(join(certificates, 'all.key'), leaf.privateKeyPem);
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, root.certificatePem);
  return { certificates, caFile, caPem: root.certificatePem, leaf };
}

function createStage(cluster: Cluster, kubelet: Kubelet, folder: string, certificates: Certificates): Stage {
  const file = join(folder, 'values.yaml');
  const helm: Stage['helm'] = async (args, values) => {
    const more = values === undefined ? [] : ['-f', file];
    const where = ['--kubeconfig', cluster.kubeconfig, '--namespace', namespace];
    if (values !== undefined) await writeFile(file, stringify(values));
    const child = spawn(requireTool('helm'), [...args, ...more, ...where], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: helmTimeoutMs,
    });
    const ended = once(child, 'close');
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return { status: (await ended)[0], stdout, stderr };
  };
  return {
    ...{ cluster, kubelet, folder, ...certificates, helm },
    render: async (values) => {
      const { status, stdout, stderr } = await helm(['template', release, chart, '--kube-version', '1.34.0'], values);
      if (status !== 0) throw new Error(stderr);
      return parseManifests(stdout);
    },
    makeSecret: async (name, stringData) => {
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData };
      await cluster.mustCall('POST', `/api/v1/namespaces/${namespace}/secrets`, secret);
    },
    secretNames: async () => {
      const path = `/api/v1/namespaces/${namespace}/secrets`;
      const { items } = await cluster.mustCall<{ items: readonly KubernetesObject[] }>('GET', path);
      return items.map(({ metadata }) => metadata.name).sort();
    },
  };
}

/** Ends TLS for the dashboard's name and passes each connection to the next ready pod of control. */
async function startIngressController(t: TestContext, { cluster, kubelet }: Stage, leaf: Leaf): Promise<void> {
  let backends: readonly string[] = [];
  let next = 0;
  const service = { namespace, name: `${release}-control`, port: 'http' };
  followService(
    cluster,
    service,
    (addresses) => {
      backends = addresses;
    },
    noticeMs,
  );
  const server = createServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem }, (front) => {
    const [host, port] = backends[next++ % backends.length]?.split(':') ?? [];
    if (host === undefined) return void front.destroy();
    const back = connect({ host, port: Number(port) });
    front.on('error', () => back.destroy()).on('close', () => back.destroy());
    back.on('error', () => front.destroy()).on('close', () => front.destroy());
    front.pipe(back).pipe(front);
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(443, kubelet.hostAddress, resolve));
  t.after(() => server.close());
}

/** Carries the near region, and gives each Service of this type the address that a cloud would give, for which helm waits. */
async function startLoadBalancer(t: TestContext, { cluster }: Stage): Promise<void> {
  const balancer = await startBalancer(t, { port: 443 });
  const service = { namespace, name: `${release}-edge-eu`, port: 'https' };
  followService(
    cluster,
    service,
    (addresses) => {
      balancer.backends = addresses;
    },
    noticeMs,
  );
  interface Service extends KubernetesObject {
    readonly spec: { readonly type: string };
    readonly status: { readonly loadBalancer?: { readonly ingress?: object } };
  }
  const root = `/api/v1/namespaces/${namespace}/services`;
  cluster.follow<Service>(root, (type, { metadata, spec, status }) => {
    if (type === 'DELETED' || spec.type !== 'LoadBalancer' || status.loadBalancer?.ingress !== undefined) return;
    const given = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.80' }] } } };
    const path = `${root}/${metadata.name}/status`;
    void cluster
      .mustCall('PATCH', path, given, 'application/merge-patch+json')
      .catch((error) => process.stderr.write(`${error}\n`));
  });
}

export async function regionKey({ kubelet }: Stage, control: string, name: string): Promise<string> {
  const about = ['--host', dataPlane(name), '--wildcard', wildcard(name), '--description', name];
  await kubelet.exec(control, ['underpass-server', 'regions', 'add', name, ...about]);
  return (await kubelet.exec(control, ['underpass-server', 'regions', 'key', name])).trim();
}

/** The chart of the previous version. */
export async function previousChart(folder: string): Promise<string> {
  const { commit } = JSON.parse(await readFile(join(repository, 'tests/deploy/previous-version.json'), 'utf8'));
  const target = join(folder, 'previous');
  await mkdir(target);
  const archive = execFileSync('git', ['archive', commit, 'deploy/helm/underpass'], { cwd: repository });
  execFileSync('tar', ['-x', '-C', target], { input: archive });
  return join(target, 'deploy/helm/underpass');
}
