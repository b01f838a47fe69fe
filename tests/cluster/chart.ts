// The chart on a cluster: what the API server accepts and stores, what its hooks do, and how pods are replaced under visitors.
// The steps follow each other as an operator takes them; the first that fails ends the run.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { bare, largest, smallest } from '../deploy/chart-values.ts';
import { type Arrivals, startArrivals, startEchoUpstream } from '../helpers/arrivals.ts';
import type { KubernetesObject } from '../helpers/kubernetes.ts';
import { type ProcessOf, startProcess } from '../helpers/process.ts';
import { type Account, signInBy, tunnelCreated } from '../helpers/product.ts';
import { type Door, visitUntil } from '../helpers/visitor.ts';
import { chart, console, dataPlane, namespace, previousChart, regionKey, release, type Stage, startStage } from './stage.ts';

const visitorsPerSecond = 50;
const rolledWithinMs = 400_000;
const operatorEmail = 'ops@example.com';

test('the chart installs, upgrades, goes back and goes away in a cluster', { timeout: 3_600_000 }, async (t) => {
  const began = performance.now();
  const step = async <T>(name: string, run: () => Promise<T>): Promise<T> => {
    const started = performance.now();
    try {
      return await run();
    } finally {
      t.diagnostic(`${((performance.now() - started) / 1_000).toFixed(1)} s  ${name}`);
    }
  };
  const stage = await step('the cluster starts', () => startStage(t));
  t.diagnostic(`etcd, API server and controllers were ready after ${(stage.cluster.startedInMs / 1_000).toFixed(1)} s`);
  try {
    await takeSteps(t, stage, step);
  } catch (error) {
    for (const { name, text } of stage.kubelet.lives) process.stderr.write(`--- ${name}\n${text().slice(-2_000)}\n`);
    throw error;
  }
  t.diagnostic(`all steps took ${Math.round((performance.now() - began) / 1_000)} s`);
});

type Step = <T>(name: string, run: () => Promise<T>) => Promise<T>;

async function takeSteps(t: TestContext, stage: Stage, step: Step): Promise<void> {
  await step('the API server takes every object, stores every field and warns of none', () => acceptsAll(stage));
  const older = await previousChart(stage.folder);
  const first = valuesOf(stage, { tag: 'previous' });
  await step('the chart of the previous version installs, without a region', () =>
    mustHelm(stage, ['install', release, older, '--wait', '--timeout', '5m'], first),
  );
  await step('its hooks have migrated the database and are gone', () => hooksAreGone(stage));
  const account = await step('the operator adds regions and signs in', () => addRegions(stage));
  const near = valuesOf(stage, { tag: 'previous', regions: [{ name: 'eu', replicas: 2 }] });
  await step('an upgrade of that chart adds the edges of a region', async () => {
    await mustHelm(stage, ['upgrade', release, older, '--wait', '--timeout', '5m'], near);
    await rolledOut(stage);
  });
  const door = await step('a client carries a tunnel', () => carryTunnel(t, stage, account));
  const visiting = startArrivals(t, door, visitorsPerSecond);
  const now = valuesOf(stage, {
    tag: 'now',
    regions: [
      { name: 'eu', replicas: 3 },
      { name: 'us', replicas: 1 },
    ],
  });
  await step('an upgrade to this version replaces every pod, with a third edge and a second region', () =>
    upgradeTo(stage, chart, now),
  );
  const scaled = {
    ...now,
    regions: now.regions.map((each) => (each.name === 'eu' ? { ...each, autoscaling: { enabled: true } } : each)),
  };
  await step('autoscaling takes over the number of edges and lets none go', () => autoscale(stage, scaled));
  // The values that are running, and one more: a rollback removes only what the revision before it has (docs/operations.md).
  await step('settings that are wrong stop the upgrade before it changes a server', () => refuseSettings(stage, scaled));
  await step('a rollback brings the previous version back', async () => {
    await mustHelm(stage, ['rollback', release, '2', '--wait', '--timeout', '5m']);
    await rolledOut(stage);
  });
  await noVisitFailed(t, visiting);
  await everyPodEndedWell(t, stage);
  await step('an uninstallation leaves what the operator made', () => uninstall(stage));
}

interface Region {
  readonly name: string;
  readonly replicas?: number;
  readonly autoscaling?: object;
}

function valuesOf({ certificates }: Stage, { tag, regions = [] }: { tag: string; regions?: readonly Region[] }) {
  return {
    image: { repository: 'registry.example.com/underpass-server', tag },
    origin: `https://${console}`,
    operatorEmail,
    mailFrom: 'Underpass <no-reply@example.com>',
    existingSecret: 'underpass',
    control: {
      trustedProxies: ['10.244.0.0/24'],
      env: { UNDERPASS_CERTIFICATES: certificates },
      ingress: { className: 'nginx', tlsSecret: 'console-tls' },
    },
    edge: { workers: 1, leaveSeconds: 5, drainSeconds: 30 },
    regions: regions.map((each) => ({ host: dataPlane(each.name), existingSecret: `underpass-${each.name}`, ...each })),
  };
}

/** The release and every hook end well, and neither helm nor the API server has a warning. */
async function mustHelm({ helm }: Stage, args: readonly string[], values?: object): Promise<void> {
  const { status, stderr, stdout } = await helm(args, values);
  assert.equal(status, 0, `helm ${args.join(' ')}: ${stderr}${stdout}`);
  assert.equal(stderr, '', `helm ${args.join(' ')} warns`);
}

/** An object as this cluster has it, for values that name what a real cluster would have. */
async function prepare({ cluster }: Stage): Promise<void> {
  await cluster.mustCall('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', {
    ...{ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'high' }, value: 1_000 },
  });
  // The fields of a PodMonitor are checked against its published schema in tests/deploy.
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  await cluster.mustCall('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    metadata: { name: 'podmonitors.monitoring.coreos.com' },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { plural: 'podmonitors', singular: 'podmonitor', kind: 'PodMonitor', listKind: 'PodMonitorList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  await eventually(
    async () => (await cluster.call('GET', '/apis/monitoring.coreos.com/v1')).status,
    (status) => status === 200,
  );
}

async function acceptsAll(stage: Stage): Promise<void> {
  await prepare(stage);
  for (const [name, values] of Object.entries({ bare, smallest, largest })) {
    for (const object of await stage.render(values)) {
      await acceptsObject(stage, name, object);
      const { template } = (object.spec ?? {}) as { template?: { metadata: object; spec: object } };
      if (template !== undefined) await acceptsPod(stage, `${name}, pod of ${object.metadata.name}`, template);
    }
  }
}

const strict = 'fieldValidation=Strict&dryRun=All';

async function acceptsObject({ cluster }: Stage, of: string, object: KubernetesObject): Promise<void> {
  const path = await cluster.pathOf(object, namespace);
  const query = `${strict}&fieldManager=test&force=true`;
  const { status, body, warnings } = await cluster.call('PATCH', `${path}?${query}`, object, 'application/apply-patch+yaml');
  const what = `${of}: ${object.kind} ${object.metadata.name}`;
  assert.ok(status === 200 || status === 201, `${what}: ${JSON.stringify(body)}`);
  assert.deepEqual(warnings, [], what);
  assert.deepEqual(lostFields(object, body), [], what);
}

/** Admission looks at the pod itself: the profile, the priority, the limits. */
async function acceptsPod({ cluster }: Stage, what: string, template: { metadata: object; spec: object }): Promise<void> {
  const spec = { ...template.spec, serviceAccountName: 'default' };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name: 'tried' }, spec };
  const { status, body, warnings } = await cluster.call('POST', `/api/v1/namespaces/${namespace}/pods?${strict}`, pod);
  assert.equal(status, 201, `${what}: ${JSON.stringify(body)}`);
  assert.deepEqual(warnings, [], what);
}

/** Paths of what was sent and is not in what was stored. */
function lostFields(sent: unknown, stored: unknown, path = ''): string[] {
  if (sent === null || sent === undefined) return [];
  if (Array.isArray(sent)) {
    const list = Array.isArray(stored) ? stored : [];
    return sent.flatMap((each, at) => lostFields(each, list[at], `${path}[${at}]`));
  }
  if (typeof sent === 'object') {
    const has = (stored ?? {}) as Readonly<Record<string, unknown>>;
    return Object.entries(sent).flatMap(([key, value]) => lostFields(value, has[key], `${path}.${key}`));
  }
  return sent === stored || thousands(sent) === stored
    ? []
    : [`${path}: ${JSON.stringify(sent)} became ${JSON.stringify(stored)}`];
}

/** The API server writes a quantity in its shortest form. */
const thousands = (sent: unknown): string => String(sent).replace(/^([1-9]\d*)000$/, '$1k');

type List<T> = { readonly items: readonly (KubernetesObject & T)[] };

async function listOf<T = object>({ cluster }: Stage, path: string): Promise<readonly (KubernetesObject & T)[]> {
  const [, root, kind] = /^(.*\/)([^/]+)$/.exec(path) ?? [];
  return (await cluster.mustCall<List<T>>('GET', `${root}namespaces/${namespace}/${kind}`)).items;
}

const namesOf = (objects: readonly KubernetesObject[]): string[] => objects.map(({ metadata }) => metadata.name).sort();

async function hooksAreGone(stage: Stage): Promise<void> {
  const migrations = stage.kubelet.lives.filter(({ name }) => name.startsWith(`${release}-migrate-`));
  assert.deepEqual(
    migrations.map(({ exits }) => exits),
    [[0]],
    'one pod ran, once',
  );
  assert.deepEqual(namesOf(await listOf(stage, '/apis/batch/v1/jobs')), []);
  assert.deepEqual(namesOf(await listOf(stage, '/apis/networking.k8s.io/v1/networkpolicies')), [`${release}-control`]);
  assert.deepEqual(namesOf(await listOf(stage, '/api/v1/serviceaccounts')), ['default', `${release}-control`]);
}

async function controlPods({ kubelet, cluster }: Stage): Promise<{ name: string; address: string }[]> {
  const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=app.kubernetes.io/component=control`;
  const { items } = await cluster.mustCall<List<object>>('GET', path);
  const names = new Set(namesOf(items));
  return kubelet.lives.filter(({ name }) => names.has(name)).map(({ name, address }) => ({ name, address }));
}

/** Uses the commands of docs/operations.md, Kubernetes. */
async function addRegions(stage: Stage): Promise<Account> {
  const [control] = await controlPods(stage);
  assert.ok(control !== undefined);
  for (const name of ['eu', 'us'])
    await stage.makeSecret(`underpass-${name}`, { 'edge-key': await regionKey(stage, control.name, name) });
  const link = await stage.kubelet.exec(control.name, ['underpass-server', 'login-link', operatorEmail]);
  const [address = ''] = /http\S+\/magiclink\/\S+/.exec(link) ?? assert.fail(link);
  // This program does not trust the ingress controller's authority, so it calls the pod.
  return signInBy(`https://${console}`, address, `http://${control.address}:8400`);
}

async function carryTunnel(t: TestContext, stage: Stage, account: Account): Promise<Door> {
  const body = { name: 'web', region: 'eu', type: 'http', ingressDomains: [], proxyProtocol: '' };
  const { status, body: answer } = await account.call('POST', `/api/tunnels?project=${account.project}`, body);
  assert.ok(status < 300, JSON.stringify(answer));
  const { url, token, ingressDomains } = await tunnelCreated(account, 'web');
  const tokenFile = join(stage.folder, 'web.token');
  await writeFile(tokenFile, token ?? '', { mode: 0o600 });
  const flags = ['--url', url, '--token-file', tokenFile, '--upstream', await startEchoUpstream(t), '--ca', stage.caFile];
  const client: ProcessOf = startProcess(t, ['client/main.ts', 'http', ...flags]);
  await client.seen(/ connected /);
  const door = { port: 443, host: ingressDomains[0]?.name ?? '', caPem: stage.caPem };
  await visitUntil(door, 200);
  return door;
}

interface Deployment {
  readonly metadata: { readonly name: string; readonly generation: number };
  readonly spec: { readonly replicas: number };
  readonly status: {
    readonly observedGeneration: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}

const deployments = (stage: Stage) => listOf<Deployment>(stage, '/apis/apps/v1/deployments');

function isRolledOut({ metadata, spec, status }: Deployment): boolean {
  const counts = [status.replicas, status.updatedReplicas, status.availableReplicas];
  return status.observedGeneration === metadata.generation && counts.every((count) => count === spec.replicas);
}

/** Waits until every server is available and the replaced pods are gone. */
async function rolledOut(stage: Stage): Promise<void> {
  await eventually(
    async () => {
      const servers = await deployments(stage);
      const wanted = servers.reduce((sum, { spec }) => sum + spec.replicas, 0);
      const pods = await listOf<{ status: { phase: string } }>(stage, '/api/v1/pods');
      const serving = pods.filter(({ status }) => status.phase === 'Running').length;
      return { waiting: servers.filter((each) => !isRolledOut(each)).map(({ metadata }) => metadata.name), wanted, serving };
    },
    ({ waiting, wanted, serving }) => waiting.length === 0 && wanted === serving,
    rolledWithinMs,
  );
}

async function upgradeTo(stage: Stage, to: string, values: object): Promise<void> {
  const before = stage.kubelet.lives.length;
  await mustHelm(stage, ['upgrade', release, to, '--wait', '--timeout', '5m'], values);
  await rolledOut(stage);
  const migrations = stage.kubelet.lives.slice(before).filter(({ name }) => name.startsWith(`${release}-migrate-`));
  assert.deepEqual(
    migrations.flatMap(({ exits }) => exits),
    [0],
    'one migration',
  );
  const pods = await listOf<{ spec: { containers: readonly { image: string }[] } }>(stage, '/api/v1/pods');
  const images = pods.map(({ spec }) => spec.containers[0]?.image.split(':').at(-1));
  assert.deepEqual(images, Array(6).fill('now'), 'two controls, three edges here and one there');
  const budgets = await listOf<{ status: { disruptionsAllowed: number } }>(stage, '/apis/policy/v1/poddisruptionbudgets');
  assert.deepEqual(
    budgets.map(({ metadata, status }) => [metadata.name, status.disruptionsAllowed]),
    [`${release}-control`, `${release}-edge-eu`, `${release}-edge-us`].map((name) => [name, 1]),
    'a drain of nodes may take one pod of each kind',
  );
}

/** The autoscaler has no metrics here: it keeps what there is, within its bounds. */
async function autoscale(stage: Stage, values: ReturnType<typeof valuesOf>): Promise<void> {
  const replicas = async (): Promise<number> =>
    (await deployments(stage)).find(({ metadata }) => metadata.name === `${release}-edge-eu`)?.spec.replicas ?? 0;
  const seen: number[] = [];
  let watching = true;
  const watch = (async () => {
    while (watching) seen.push(await replicas());
  })();
  await mustHelm(stage, ['upgrade', release, chart, '--wait', '--timeout', '5m'], values);
  await rolledOut(stage);
  watching = false;
  await watch;
  assert.deepEqual([...new Set(seen)], [3], 'how many edges the region had');
}

async function refuseSettings(stage: Stage, values: ReturnType<typeof valuesOf>): Promise<void> {
  const before = await deployments(stage);
  const runs = stage.kubelet.lives.length;
  const env = { ...values.control.env, UNDERPASS_ACME_EAB_KEY_ID: 'a key without its secret' };
  const { status, stderr } = await stage.helm(['upgrade', release, chart, '--timeout', '5m'], {
    ...values,
    control: { ...values.control, env },
  });
  assert.notEqual(status, 0);
  assert.match(stderr, /pre-upgrade hooks failed/);
  const migrations = stage.kubelet.lives.slice(runs);
  assert.deepEqual(
    migrations.map(({ exits }) => exits),
    [[3]],
    'settings that are wrong stay wrong, so there is one try',
  );
  const after = await deployments(stage);
  const shape = (objects: readonly Deployment[]) => objects.map(({ metadata }) => [metadata.name, metadata.generation]);
  assert.deepEqual(shape(after), shape(before), 'the old pods keep running');
  assert.deepEqual(namesOf(await listOf(stage, '/apis/batch/v1/jobs')), [`${release}-migrate`], 'the Job stays with its log');
}

async function noVisitFailed(t: TestContext, visiting: Arrivals): Promise<void> {
  const { visits, failures, p99Ms, slowestMs } = await visiting.stop();
  const figures = { visits, failed: failures.length, p99Ms: Math.round(p99Ms), slowestMs: Math.round(slowestMs) };
  t.diagnostic(`visitors during all upgrades and the rollback: ${JSON.stringify(figures)}`);
  assert.deepEqual(failures, []);
}

/** Servers end with 0, none was killed, and none was started a second time. */
async function everyPodEndedWell(t: TestContext, { kubelet }: Stage): Promise<void> {
  const servers = kubelet.lives.filter(({ labels }) => labels['app.kubernetes.io/component'] !== 'migrate');
  const bad = servers.filter(({ exits, killed }) => killed || exits.some((code) => code !== 0) || exits.length > 1);
  const slowest = Math.max(...servers.map(({ stopMs }) => stopMs));
  t.diagnostic(`${servers.length} servers ran as pods; the slowest stop took ${(slowest / 1_000).toFixed(1)} s`);
  assert.deepEqual(
    bad.map(({ name, exits, killed }) => ({ name, exits, killed })),
    [],
  );
}

/** docs/operations.md, Kubernetes: Secrets stay, and the Job of a migration that failed. */
async function uninstall(stage: Stage): Promise<void> {
  await mustHelm(stage, ['uninstall', release, '--wait', '--timeout', '5m']);
  const kinds = [
    ...['/api/v1/services', '/api/v1/pods', '/apis/apps/v1/deployments', '/apis/apps/v1/replicasets'],
    ...['/apis/policy/v1/poddisruptionbudgets', '/apis/autoscaling/v2/horizontalpodautoscalers'],
    ...['/apis/networking.k8s.io/v1/networkpolicies', '/apis/networking.k8s.io/v1/ingresses', '/apis/batch/v1/jobs'],
  ];
  const left = async (): Promise<string[]> =>
    (await Promise.all(kinds.map(async (kind) => namesOf(await listOf(stage, kind)).map((name) => `${kind} ${name}`)))).flat();
  // What the last failed migration left.
  const migration = new RegExp(`^\\S+ ${release}-migrate`);
  await eventually(left, (names) => names.every((name) => migration.test(name)), rolledWithinMs);
  const kept = ['/api/v1/pods', '/apis/batch/v1/jobs', '/apis/networking.k8s.io/v1/networkpolicies'];
  assert.deepEqual(
    (await left()).map((name) => name.replace(/-[a-z0-9]{5}$/, '')).sort(),
    kept.map((kind) => `${kind} ${release}-migrate`),
  );
  assert.deepEqual(namesOf(await listOf(stage, '/api/v1/serviceaccounts')).sort(), ['default', `${release}-migrate`]);
  assert.deepEqual(await stage.secretNames(), ['underpass', 'underpass-eu', 'underpass-us']);
}
