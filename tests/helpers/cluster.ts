// A Kubernetes API server of its own: the real one, with etcd behind it, and no controllers and no nodes. What a controller or a
// kubelet would do is for the test to play (pods.ts). Go builds the API server once for each version; the cache keeps it.
import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createRoot, issueLeaf } from '@underpass/control/edges/certificate/x509.ts';
import { findTool } from '../../tools/system-tools.mjs';
import { eventually } from './load.ts';
import { freePorts } from './port.ts';
import { startProgram, temporaryHome } from './process.ts';

const source = join(import.meta.dirname, '../cluster/apiserver');

export interface ApiAnswer<Body> {
  readonly status: number;
  readonly body: Body;
  /** What kubectl prints after `Warning:`. */
  readonly warnings: readonly string[];
}

export interface Cluster {
  /** Path of the file by which helm and kubectl find and call it. */
  readonly kubeconfig: string;
  /** Calls the API as an administrator. Throws if the answer is a failure. */
  call<Body>(method: string, path: string, body?: unknown, contentType?: string): Promise<ApiAnswer<Body>>;
}

/** The API server's program; builds it first if this machine has none of this version. */
export function apiServerProgram(): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(source).sort()) hash.update(readFileSync(join(source, name)));
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'underpass-tests');
  const program = join(folder, `kube-apiserver-${hash.digest('hex').slice(0, 12)}`);
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  process.stderr.write('building kube-apiserver (some ten minutes, once)\n');
  const version = /k8s\.io\/kubernetes v(1\.(\d+)\.\d+)/.exec(readFileSync(join(source, 'go.mod'), 'utf8'));
  const names = `-X k8s.io/component-base/version.gitVersion=v${version?.[1]} -X k8s.io/component-base/version.gitMajor=1`;
  const flags = ['-trimpath', '-ldflags', `-s -w ${names} -X k8s.io/component-base/version.gitMinor=${version?.[2]}`];
  const env = { ...process.env, GOFLAGS: '-mod=readonly', CGO_ENABLED: '0' };
  execFileSync(need('go', 'golang-go'), ['build', ...flags, '-o', `${program}.new`, '.'], { cwd: source, env, stdio: 'inherit' });
  renameSync(`${program}.new`, program);
  return program;
}

function need(name: string, debian: string): string {
  const path = findTool(name);
  if (path === undefined) throw new Error(`${name} is not installed: apt-get install ${debian}`);
  return path;
}

export async function startCluster(t: TestContext): Promise<Cluster> {
  const program = apiServerProgram();
  const folder = await temporaryHome(t);
  const file = (name: string): string => join(folder, name);
  const [etcd = 0, etcdPeer = 0, port = 0] = await freePorts(3);
  const token = randomBytes(24).toString('hex');
  const certificates = await writeCredentials(folder, token);

  const at = (number: number): string => `http://127.0.0.1:${number}`;
  startProgram(t, need('etcd', 'etcd-server'), [
    ...['--data-dir', file('etcd'), '--unsafe-no-fsync'],
    ...['--listen-client-urls', at(etcd), '--advertise-client-urls', at(etcd)],
    ...['--listen-peer-urls', at(etcdPeer), '--initial-advertise-peer-urls', at(etcdPeer)],
    ...['--initial-cluster', `default=${at(etcdPeer)}`, '--logger', 'zap', '--log-level', 'error'],
  ]);
  const server = startProgram(t, program, [
    `--etcd-servers=${at(etcd)}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    `--cert-dir=${file('generated')}`,
    `--tls-cert-file=${file('server.pem')}`,
    `--tls-private-key-file=${file('server.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('accounts.pem')}`,
    `--service-account-signing-key-file=${file('accounts.key')}`,
    `--token-auth-file=${file('tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.96.0.0/16',
  ]);

  const kubeconfig = file('kubeconfig');
  const named = (name: string, key: string, value: unknown): object => ({ name, [key]: value });
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [named('test', 'cluster', { server: `https://localhost:${port}`, 'certificate-authority': certificates })],
    users: [named('admin', 'user', { tokenFile: file('token') })],
    contexts: [named('test', 'context', { cluster: 'test', user: 'admin' })],
    'current-context': 'test',
  };
  await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 });

  const ca = readFileSync(certificates);
  const send = (method: string, path: string, body?: unknown, contentType = 'application/json') =>
    new Promise<ApiAnswer<never>>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': contentType };
      const call = request(
        { host: '127.0.0.1', servername: 'localhost', port, method, path, ca, headers, timeout: 10_000 },
        async (response) => {
          let text = '';
          for await (const chunk of response.setEncoding('utf8')) text += chunk;
          const warnings = [response.headers.warning ?? []].flat().map((line) => line.replace(/^299 - "(.*)"$/, '$1'));
          const isJson = /json/.test(response.headers['content-type'] ?? '');
          resolve({ status: response.statusCode ?? 0, body: (isJson ? JSON.parse(text) : text) as never, warnings });
        },
      );
      call.on('timeout', () => call.destroy(new Error('no answer from the API server')));
      call.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });

  const readiness = async (): Promise<number> => {
    if (server.child.exitCode !== null) throw new Error(`the API server ended: ${server.text().slice(-2_000)}`);
    return (await send('GET', '/readyz').catch(() => null))?.status ?? 0;
  };
  await eventually(readiness, (status) => status === 200, 120_000);
  return {
    kubeconfig,
    call: async (method, path, body, contentType) => {
      const answer = await send(method, path, body, contentType);
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer;
    },
  };
}

/** Writes what the API server and its callers prove themselves with; returns the file of the authority. */
async function writeCredentials(folder: string, token: string): Promise<string> {
  const now = Date.now();
  const lifespan = { notBefore: new Date(now - 60_000), notAfter: new Date(now + 24 * 3600_000) };
  const root = await createRoot('cluster of a test', lifespan);
  const leaf = await issueLeaf(root, ['localhost'], lifespan);
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const files = {
    'ca.pem': root.certificatePem,
    'server.pem': leaf.certificatePem,
    'server.key': leaf.privateKeyPem,
    'accounts.pem': publicKey.export({ type: 'spki', format: 'pem' }),
    'accounts.key': privateKey.export({ type: 'pkcs8', format: 'pem' }),
    'tokens.csv': `${token},admin,admin,"system:masters"\n`,
    token,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 });
  return join(folder, 'ca.pem');
}
