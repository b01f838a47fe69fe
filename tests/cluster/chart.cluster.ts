// The chart on a real API server, by the steps of docs/operations.md: install, a region, growth, rollback, a migration that
// fails, and the end. `npm run cluster`; not part of `npm test`, because Go first builds the API server for some ten minutes.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startPostgres } from '@underpass/control/test-kit-postgres.ts';
import { parse, stringify } from 'yaml';
import { startCluster } from '../helpers/cluster.ts';
import { type KubernetesObject, parseManifests } from '../helpers/kubernetes.ts';
import { startNats } from '../helpers/nats.ts';
import { temporaryHome } from '../helpers/process.ts';
import { requireTool } from '../helpers/tool.ts';
import { type Pod, runJobs, runPod, type Workload } from './pods.ts';

const root = join(import.meta.dirname, '../..');
const chart = join(root, 'deploy/helm/underpass');
const namespace = 'underpass';
const [, docsValues = ''] =
  /```yaml file=values\.yaml\n([\s\S]*?)```/.exec(readFileSync(join(root, 'docs/operations.md'), 'utf8')) ?? [];

interface Values {
  readonly regions: readonly Readonly<Record<string, unknown>>[];
  readonly [name: string]: unknown;
}

const values = parse(docsValues) as Values;

/** Paths of the kinds that the chart makes. */
const collections: Readonly<Record<string, string>> = {
  ServiceAccount: '/api/v1',
  Service: '/api/v1',
  Deployment: '/apis/apps/v1',
  PodDisruptionBudget: '/apis/policy/v1',
  NetworkPolicy: '/apis/networking.k8s.io/v1',
  Ingress: '/apis/networking.k8s.io/v1',
  HorizontalPodAutoscaler: '/apis/autoscaling/v2',
  Job: '/apis/batch/v1',
};

function collectionOf(kind: string): string {
  const plural = kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : kind.endsWith('s') ? `${kind}es` : `${kind}s`;
  return `${collections[kind]}/namespaces/${namespace}/${plural.toLowerCase()}`;
}

/** The first member of `sent` that `stored` lacks or has otherwise, as a path; undefined if there is none. */
function droppedField(sent: unknown, stored: unknown, path = ''): string | undefined {
  if (typeof sent !== 'object' || sent === null) return sent === stored || isSameQuantity(sent, stored) ? undefined : path;
  for (const [name, value] of Object.entries(sent)) {
    const dropped = droppedField(value, (stored as Record<string, unknown> | undefined)?.[name], `${path}.${name}`);
    if (dropped !== undefined) return dropped;
  }
  return undefined;
}

/** Kubernetes writes 1000m as 1. */
const isSameQuantity = (sent: unknown, stored: unknown): boolean => String(sent).replace(/^(\d+)000m$/, '$1') === String(stored);

test('the chart installs, grows, rolls back, survives a failed migration and leaves', async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.close());
  const nats = await startNats(t);
  const cluster = await startCluster(t);
  const folder = await temporaryHome(t);
  const database = await postgres.createDatabase();

  const createSecret = (name: string, stringData: Readonly<Record<string, string>>) =>
    cluster.call('POST', `/api/v1/namespaces/${namespace}/secrets`, { metadata: { name }, stringData });
  const workload = async (name: string): Promise<Workload> =>
    (await cluster.call<Workload>('GET', `${collectionOf('Deployment')}/${name}`)).body;
  const list = async (kind: string): Promise<readonly { readonly metadata: { readonly name: string } }[]> =>
    (await cluster.call<{ items: [] }>('GET', `${collectionOf(kind)}?labelSelector=app.kubernetes.io/instance=underpass`)).body
      .items;
  const helm = async (...args: readonly string[]): Promise<{ readonly failed: boolean; readonly text: string }> =>
    await new Promise((resolve) => {
      const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder };
      execFile(requireTool('helm'), ['-n', namespace, ...args], { env, timeout: 120_000 }, (error, stdout, stderr) =>
        resolve({ failed: error !== null, text: `${stdout}${stderr}` }),
      );
    });
  const apply = async (
    verb: 'install' | 'upgrade',
    change: Values,
  ): Promise<{ readonly failed: boolean; readonly text: string }> => {
    const file = join(folder, 'values.yaml');
    await writeFile(file, stringify(change));
    return helm(verb, 'underpass', chart, '-f', file);
  };
  const succeed = ({ failed, text }: { readonly failed: boolean; readonly text: string }): void => {
    assert.equal(failed, false, text);
    assert.doesNotMatch(text, /warning/i);
  };

  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' };
  await cluster.call('POST', '/api/v1/namespaces', { metadata: { name: namespace, labels } });
  await createSecret('underpass', {
    'database-url': database,
    'nats-url': nats.url,
    'smtp-url': 'smtp://127.0.0.1:9',
    'master-key': randomBytes(32).toString('base64'),
  });
  const jobs = runJobs(t, cluster, namespace);

  let control: Pod | undefined;
  await step(t, 'installs without regions, migrates, and control is ready', async () => {
    succeed(await apply('install', { ...values, regions: [] }));
    assert.deepEqual(jobs.exits, [0]);
    control = await runPod(t, cluster, namespace, (await workload('underpass-control')).spec.template);
    await control.ready();
  });
  assert.ok(control);
  const { address, env } = control;

  const inControl = (...args: readonly string[]): string =>
    execFileSync(process.execPath, ['server/main.ts', ...args], { cwd: root, env: { ...process.env, ...env }, encoding: 'utf8' });
  const runEdges = async (name: string): Promise<void> => {
    const { spec } = await workload(name);
    const over = { UNDERPASS_PRODUCTION: 'false', UNDERPASS_CONTROL_URL: `http://${address}:8400` };
    const edges: Pod[] = [];
    for (let count = 0; count < (spec.replicas ?? 1); count += 1)
      edges.push(await runPod(t, cluster, namespace, spec.template, over));
    for (const edge of edges) await edge.ready();
    for (const edge of edges) await edge.process.end();
  };

  await step(t, 'takes a region, whose edges get ready', async () => {
    inControl('regions', 'add', 'eu', '--host', 'eu.example.com', '--wildcard', 'tunnels.example.com', '--description', 'Europe');
    await createSecret('underpass-eu', { 'edge-key': inControl('regions', 'key', 'eu').trim() });
    succeed(await apply('upgrade', values));
    assert.deepEqual(jobs.exits, [0, 0]);
    await runEdges('underpass-edge-eu');
  });

  await step(t, 'stores every field of every object, and warns of none', async () => {
    const objects = parseManifests((await helm('get', 'manifest', 'underpass')).text);
    assert.ok(objects.length > 8, `${objects.length} objects`);
    for (const object of objects) {
      const path = `${collectionOf(object.kind)}/${object.metadata.name}`;
      const query = 'dryRun=All&fieldManager=test&force=true&fieldValidation=Strict';
      const { body, warnings } = await cluster.call<KubernetesObject>(
        'PATCH',
        `${path}?${query}`,
        object,
        'application/apply-patch+yaml',
      );
      assert.deepEqual(warnings, [], path);
      assert.equal(droppedField(object, body), undefined, path);
    }
  });

  await step(t, 'grows to a second region, three edges and autoscaling, and rolls back', async () => {
    const [eu = {}] = values.regions;
    await createSecret('underpass-us', { 'edge-key': 'us' });
    const us = { name: 'us', host: 'us.example.com', existingSecret: 'underpass-us', autoscaling: { enabled: true } };
    succeed(await apply('upgrade', { ...values, regions: [{ ...eu, replicas: 3, autoscaling: { enabled: false } }, us] }));
    assert.equal((await workload('underpass-edge-eu')).spec.replicas, 3);
    assert.equal((await workload('underpass-edge-us')).spec.replicas, 1, 'the autoscaler decides');
    assert.ok((await list('HorizontalPodAutoscaler')).some(({ metadata }) => metadata.name === 'underpass-edge-us'));
    succeed(await helm('rollback', 'underpass', '2'));
    const names = (await list('Deployment')).map(({ metadata }) => metadata.name);
    assert.deepEqual(names.sort(), ['underpass-control', 'underpass-edge-eu']);
  });

  await step(t, 'changes nothing if the migration fails', async () => {
    const path = `/api/v1/namespaces/${namespace}/secrets/underpass`;
    const change = (url: string) =>
      cluster.call('PATCH', path, { stringData: { 'database-url': url } }, 'application/merge-patch+json');
    const before = await workload('underpass-control');
    await change('postgres://nobody@127.0.0.1:9/none');
    const { failed, text } = await apply('upgrade', { ...values, control: { ...(values.control as object), replicas: 7 } });
    assert.equal(failed, true);
    assert.match(text, /pre-upgrade hooks failed/);
    assert.deepEqual((await workload('underpass-control')).spec, before.spec);
    assert.equal((await list('Job')).length, 1, 'the Job stays, so that its log can be read');
    await change(database);
    succeed(await apply('upgrade', values));
  });

  await step(t, 'leaves nothing behind but what the operator made', async () => {
    succeed(await helm('uninstall', 'underpass'));
    for (const kind of Object.keys(collections)) assert.deepEqual(await list(kind), [], kind);
    const secrets = (
      await cluster.call<{ items: readonly { metadata: { name: string } }[] }>('GET', `/api/v1/namespaces/${namespace}/secrets`)
    ).body.items;
    assert.deepEqual(secrets.map(({ metadata }) => metadata.name).sort(), ['underpass', 'underpass-eu', 'underpass-us']);
  });
  await jobs.stop();
});

/** Later steps build on this one, so the test ends if it fails. */
async function step(t: TestContext, name: string, run: () => Promise<void>): Promise<void> {
  let failure: unknown;
  await t.test(name, async () => {
    await run().catch((error: unknown) => {
      failure = error;
      throw error;
    });
  });
  if (failure !== undefined) throw failure;
}
