// A Kubernetes cluster without nodes, for tests: etcd, the API server and the controllers of Kubernetes, each a process of its own.
// Go builds the last two once for each version, into the user's cache folder. A node is another helper (kubelet.ts).
import { spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { createRoot, issueLeaf } from '@underpass/control/edges/certificate/x509.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import type { KubernetesObject } from './kubernetes.ts';
import { freePorts } from './port.ts';
import { startProgram, temporaryHome } from './process.ts';
import { requireTool } from './tool.ts';

const source = join(import.meta.dirname, '../cluster/control-plane');
const sourceFiles = ['go.mod', 'go.sum', 'main.go'];
const buildTimeoutMs = 3_600_000;
const readyWithinMs = 120_000;

/** The controllers that act on objects of a chart or of an operator. None of them needs a cloud, and none asks nodes. */
const controllers = [
  'deployment-controller',
  'disruption-controller',
  'endpointslice-controller',
  'garbage-collector-controller',
  'horizontal-pod-autoscaler-controller',
  'job-controller',
  'namespace-controller',
  'replicaset-controller',
  'root-ca-certificate-publisher-controller',
  'serviceaccount-controller',
];

export interface ApiAnswer<T> {
  readonly status: number;
  readonly body: T;
  /** What the API server would tell a user besides. */
  readonly warnings: readonly string[];
}

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface Cluster {
  readonly url: string;
  /** File with the address and the token of an administrator, for helm and other programs. */
  readonly kubeconfig: string;
  /** The time from the start of the first process until everything was ready. */
  readonly startedInMs: number;
  call<T = KubernetesObject>(method: string, path: string, body?: object, contentType?: string): Promise<ApiAnswer<T>>;
  /** Does what `call` does, and throws unless the answer is a good one. */
  mustCall<T = KubernetesObject>(method: string, path: string, body?: object, contentType?: string): Promise<T>;
  /** The path of the object in the API; one without a namespace is in `namespace` if its kind has any. */
  pathOf(object: KubernetesObject, namespace: string): Promise<string>;
  /** Tells each object of the list, and then each change. Stops with the test. */
  follow<T>(path: string, onChange: (type: ChangeType, object: T) => void): void;
}

/** Builds the programs unless the cache has this version. Returns the path and how long the build took. */
export function buildControlPlane(): { readonly path: string; readonly tookMs: number } {
  const texts = sourceFiles.map((name) => readFileSync(join(source, name), 'utf8'));
  const [, version = ''] = /k8s\.io\/kubernetes v(\S+)/.exec(texts[0] ?? '') ?? [];
  const digest = createHash('sha256').update(texts.join('\0')).digest('hex').slice(0, 12);
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'underpass', 'control-plane', `${version}-${digest}`);
  const path = join(folder, 'control-plane');
  if (existsSync(path)) return { path, tookMs: 0 };
  const started = performance.now();
  mkdirSync(folder, { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  // The API server says which version it is by what the linker puts there, and helm asks for it.
  const [major, minor] = version.split('.');
  const names = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor };
  const set = Object.entries(names).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  const flags = ['build', '-trimpath', '-ldflags', ['-s', '-w', ...set].join(' '), '-o', unfinished, '.'];
  const { status } = spawnSync(requireTool('go'), flags, { cwd: source, stdio: 'inherit', timeout: buildTimeoutMs });
  if (status !== 0) throw new Error(`Kubernetes ${version} was not built: go ${flags.join(' ')} in ${source}`);
  renameSync(unfinished, path);
  return { path, tookMs: performance.now() - started };
}

interface Files {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
  readonly accountKey: string;
  readonly tokens: string;
  readonly kubeconfig: string;
}

/** Writes keys, certificates and the administrator's token. No program gets a secret as an argument. */
async function writeFiles(folder: string, url: string): Promise<{ files: Files; token: string; caPem: string }> {
  const path = (name: string): string => join(folder, name);
  const files: Files = {
    ...{ ca: path('ca.crt'), certificate: path('server.crt'), key: path('server.key'), accountKey: path('account.key') },
    ...{ tokens: path('tokens.csv'), kubeconfig: path('kubeconfig') },
  };
  const span = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 86_400_000) };
  const root = await createRoot('cluster', span);
  const leaf = await issueLeaf(root, ['localhost'], span);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const token = randomBytes(24).toString('hex');
  const cluster = { server: url, 'certificate-authority': files.ca };
  const kubeconfig = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
  };
  const texts: Readonly<Record<keyof Files, string>> = {
    ca: root.certificatePem,
    certificate: leaf.certificatePem,
    key: leaf.privateKeyPem,
    accountKey: privateKey.export({ type: 'pkcs1', format: 'pem' }) as string,
    tokens: `${token},admin,admin,"system:masters"\n`,
    kubeconfig: JSON.stringify(kubeconfig),
  };
  for (const [name, text] of Object.entries(texts)) await writeFile(files[name as keyof Files], text, { mode: 0o600 });
  return { files, token, caPem: root.certificatePem };
}

const apiServerFlags = (etcd: string, port: number, files: Files): string[] => [
  `--etcd-servers=${etcd}`,
  `--secure-port=${port}`,
  '--bind-address=127.0.0.1',
  // Nothing reaches the API server by a Service, so it need not say where it is.
  '--advertise-address=192.0.2.1',
  '--endpoint-reconciler-type=none',
  `--tls-cert-file=${files.certificate}`,
  `--tls-private-key-file=${files.key}`,
  `--token-auth-file=${files.tokens}`,
  '--authorization-mode=RBAC',
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${files.accountKey}`,
  `--service-account-signing-key-file=${files.accountKey}`,
  '--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112',
];

const controllerFlags = (files: Files): string[] => [
  `--kubeconfig=${files.kubeconfig}`,
  `--controllers=${controllers.join(',')}`,
  '--leader-elect=false',
  '--secure-port=0',
  `--service-account-private-key-file=${files.accountKey}`,
  `--root-ca-file=${files.ca}`,
];

export async function startCluster(t: TestContext): Promise<Cluster> {
  const { path: program } = buildControlPlane();
  const folder = await temporaryHome(t);
  const [client = 0, peer = 0, port = 0] = await freePorts(3);
  const url = `https://localhost:${port}`;
  const { files, token, caPem } = await writeFiles(folder, url);
  const started = performance.now();
  const [etcdUrl, peerUrl] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  const etcd = startProgram(t, requireTool('etcd'), [
    ...['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync', '--log-level', 'error'],
    ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
    ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl, '--initial-cluster', `default=${peerUrl}`],
  ]);
  await etcd.listening(client);
  const server = startProgram(t, program, ['apiserver', ...apiServerFlags(etcdUrl, port, files)]);
  const api = createApi(t, url, caPem, token);
  await eventually(
    async () => (await api.call('GET', '/readyz').catch(() => ({ status: 0 }))).status,
    (status) => status === 200 || server.child.exitCode !== null,
    readyWithinMs,
  );
  if (server.child.exitCode !== null) throw new Error(`the API server ended:\n${server.text().slice(-2_000)}`);
  startProgram(t, program, ['controller-manager', ...controllerFlags(files)]);
  // The controllers make this account in every namespace.
  await eventually(
    async () => (await api.call('GET', '/api/v1/namespaces/default/serviceaccounts/default')).status,
    (status) => status === 200,
    readyWithinMs,
  );
  return { url, kubeconfig: files.kubeconfig, startedInMs: performance.now() - started, ...api };
}

type Api = Pick<Cluster, 'call' | 'mustCall' | 'pathOf' | 'follow'>;

function createApi(t: TestContext, url: string, ca: string, token: string): Api {
  const agent = new Agent({ keepAlive: true, ca });
  t.after(() => agent.destroy());
  const open = async (method: string, path: string, body?: object, type = 'application/json'): Promise<IncomingMessage> => {
    const sent = body === undefined ? '' : JSON.stringify(body);
    const kind = { 'content-type': type, 'content-length': Buffer.byteLength(sent) };
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json', ...(sent === '' ? {} : kind) };
    const asked = request(new URL(path, url), { method, agent, headers });
    asked.end(sent);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return answer.setEncoding('utf8');
  };
  const call: Api['call'] = async (method, path, body, type) => {
    const answer = await open(method, path, body, type);
    let text = '';
    for await (const part of answer) text += part;
    const isJson = answer.headers['content-type']?.startsWith('application/json') === true;
    const warnings = [answer.headers.warning ?? []].flat();
    return { status: answer.statusCode ?? 0, body: isJson ? JSON.parse(text) : text, warnings };
  };
  const mustCall: Api['mustCall'] = async (method, path, body, type) => {
    const { status, body: answer } = await call(method, path, body, type);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer as never;
  };
  return { call, mustCall, pathOf: createPaths(mustCall), follow: (path, onChange) => follow(t, open, mustCall, path, onChange) };
}

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

function createPaths(mustCall: Api['mustCall']): Api['pathOf'] {
  const known = new Map<string, Promise<{ readonly resources: readonly Resource[] }>>();
  return async ({ apiVersion, kind, metadata }, namespace) => {
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const asked = known.get(root) ?? mustCall<{ resources: readonly Resource[] }>('GET', root);
    known.set(root, asked);
    const found = (await asked).resources.find((each) => each.kind === kind && !each.name.includes('/'));
    if (found === undefined) throw new Error(`the API server has no ${kind} of ${apiVersion}`);
    return `${root}/${found.namespaced ? `namespaces/${namespace}/` : ''}${found.name}/${metadata.name}`;
  };
}

interface Followed {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
}

function follow<T>(
  t: TestContext,
  open: (method: string, path: string) => Promise<IncomingMessage>,
  mustCall: Api['mustCall'],
  path: string,
  onChange: (type: ChangeType, object: T) => void,
): void {
  let stopped = false;
  let current: IncomingMessage | undefined;
  t.after(() => {
    stopped = true;
    current?.destroy();
  });
  const known = new Map<string, T & Followed>();
  const tell = (type: ChangeType, object: T & Followed): void => {
    if (type === 'DELETED') known.delete(object.metadata.uid);
    else known.set(object.metadata.uid, object);
    onChange(type, object);
  };
  const once = async (): Promise<void> => {
    const list = await mustCall<{ metadata: { resourceVersion: string }; items: readonly (T & Followed)[] }>('GET', path);
    const listed = new Set(list.items.map(({ metadata }) => metadata.uid));
    for (const [uid, object] of known) if (!listed.has(uid)) tell('DELETED', object);
    for (const object of list.items) tell('ADDED', object);
    const glue = path.includes('?') ? '&' : '?';
    current = await open('GET', `${path}${glue}watch=1&resourceVersion=${list.metadata.resourceVersion}`);
    for await (const line of createInterface({ input: current })) {
      const { type, object } = JSON.parse(line) as { type: ChangeType | 'ERROR'; object: T & Followed };
      // The list is read again after an error, for example because the version is too old.
      if (type === 'ERROR') return;
      tell(type, object);
    }
  };
  void (async () => {
    while (!stopped) await once().catch(() => new Promise((resolve) => setTimeout(resolve, 100)));
  })();
}
