// The Helm chart: rendered by helm, checked against the schemas and types of Kubernetes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exitCodes } from '@underpass/server/process/error.ts';
import { readSettings, settingTable } from '@underpass/server/settings/settings.ts';
import { parse, stringify } from 'yaml';
import { readBlocks } from '../docs/page.ts';
import { type KubernetesObject, kubernetesComplaints, parseManifests } from '../helpers/kubernetes.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';
import { bare, largest, region, smallest } from './chart-values.ts';

const chart = fileURLToPath(new URL('../../deploy/helm/underpass', import.meta.url));

function helm(given: object) {
  const { release = 'up', ...values } = given as { release?: string };
  const folder = mkdtempSync(join(tmpdir(), 'underpass-chart-'));
  try {
    const file = join(folder, 'values.yaml');
    writeFileSync(file, stringify(values));
    const args = ['template', release, chart, '-f', file, '--kube-version', '1.31.0'];
    const { status, stdout, stderr } = spawnSync(requireTool('helm'), args, { encoding: 'utf8', timeout: 60_000 });
    return { status, stderr, text: stdout };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every object that a test has rendered, once each. */
const rendered = new Map<string, KubernetesObject>();

function render(values: object): KubernetesObject[] {
  const { status, stderr, text } = helm(values);
  assert.equal(status, 0, stderr);
  const objects = parseManifests(text);
  for (const object of objects) rendered.set(JSON.stringify(object), object);
  return objects;
}

const named = (objects: readonly KubernetesObject[], kind: string) => objects.filter((object) => object.kind === kind);

/** What one object of the chart asks for. */
function specOf<T>(objects: readonly KubernetesObject[], kind: string, name: string): T {
  const found = named(objects, kind).find(({ metadata }) => metadata.name === name);
  return (found ?? assert.fail(`no ${kind} ${name}`)).spec as T;
}

type Labels = Readonly<Record<string, string>>;
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly securityContext: Record<string, unknown>;
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
  readonly resources: { readonly requests: Labels; readonly limits: Labels };
}

interface Pod {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks?: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: Record<string, unknown>;
  readonly topologySpreadConstraints: readonly {
    readonly topologyKey: string;
    readonly labelSelector: { matchLabels: Labels };
  }[];
  readonly containers: readonly [Container];
  readonly volumes: readonly {
    readonly name: string;
    readonly secret?: { readonly items: readonly { readonly path: string }[] };
  }[];
}

interface Workload {
  readonly name: string;
  readonly labels: Labels;
  readonly minReadySeconds: number;
  readonly pod: Pod;
  readonly container: Container;
}

function workloads(objects: readonly KubernetesObject[], kinds: readonly string[] = ['Deployment', 'Job']): Workload[] {
  return objects
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ metadata, spec }) => {
      const { template, minReadySeconds } = spec as {
        minReadySeconds: number;
        template: { metadata: { labels: Labels }; spec: Pod };
      };
      const { spec: pod } = template;
      return { name: metadata.name, labels: template.metadata.labels, minReadySeconds, pod, container: pod.containers[0] };
    });
}

const servers = (values: object): Workload[] => workloads(render(values), ['Deployment']);
const envOf = ({ container }: Workload): Record<string, string | undefined> =>
  Object.fromEntries(container.env.map(({ name, value }) => [name, value]));

describe('the chart', { skip: skipWithout('helm') }, () => {
  for (const [name, values] of Object.entries({ smallest, largest, bare })) {
    test(`runs pods as the restricted profile requires, without a token of the cluster, with the ${name} values`, () => {
      const objects = render(values);
      for (const { pod, container } of workloads(objects)) {
        const { runAsNonRoot, seccompProfile } = pod.securityContext;
        assert.deepEqual({ runAsNonRoot, seccompProfile }, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
        assert.deepEqual(container.securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        assert.equal(pod.automountServiceAccountToken, false);
        const account = named(objects, 'ServiceAccount').find(({ metadata }) => metadata.name === pod.serviceAccountName);
        assert.equal(account?.automountServiceAccountToken, false, pod.serviceAccountName);
        assert.ok(container.resources.requests.memory && container.resources.limits.memory, container.name);
      }
    });

    test(`sets only settings that exist, and mounts the secrets that they name, with the ${name} values`, () => {
      const rows = Object.values(settingTable);
      const plain = new Set(rows.filter((row) => !row.secret).map((row) => row.name));
      const files = new Set(rows.filter((row) => row.secret).map((row) => `${row.name}_FILE`));
      for (const { container, pod } of workloads(render(values))) {
        const mounted = pod.volumes.flatMap(({ secret }) => secret?.items ?? []).map(({ path }) => path);
        const wanted: string[] = [];
        for (const { name: variable, value = '' } of container.env) {
          assert.ok(variable === 'POD_IP' || plain.has(variable) || files.has(variable), variable);
          if (files.has(variable)) wanted.push(value.replace('/run/secrets/underpass/', ''));
        }
        assert.deepEqual(wanted.sort(), mounted.sort());
      }
    });

    test(`names in services, policies and probes only ports that the pods have, with the ${name} values`, () => {
      const objects = render(values);
      const selected = (labels: Labels): readonly Workload[] =>
        workloads(objects).filter((each) => Object.entries(labels).every(([key, value]) => each.labels[key] === value));
      for (const { kind, metadata, spec } of objects.filter((each) => ['Service', 'NetworkPolicy'].includes(each.kind))) {
        const labels = kind === 'Service' ? (spec as { selector: Labels }).selector : podLabelsOf(spec);
        const pods = selected(labels);
        assert.equal(pods.length, 1, `${kind} ${metadata.name} selects ${pods.map((each) => each.name)}`);
        const ports = new Set(pods[0]?.container.ports?.map((port) => port.name));
        for (const port of namedPorts(kind === 'Service' ? spec : (spec as { ingress: unknown }).ingress)) {
          assert.ok(ports.has(port), `${kind} ${metadata.name} names ${port}`);
        }
      }
    });
  }

  test('gives each server settings that production accepts', () => {
    const secrets: Readonly<Record<string, string>> = {
      'database-url': 'postgres://underpass:x@postgres/underpass',
      'nats-url': 'nats://nats:4222',
      'smtp-url': 'smtps://user:x@mail.example.com',
      'master-key': Buffer.alloc(32).toString('base64'),
      'usage-webhook-secret': `whsec_${Buffer.alloc(32).toString('base64')}`,
      'otlp-headers': 'authorization=Bearer%20x',
    };
    const readFile = (path: string): string => secrets[path.slice(path.lastIndexOf('/') + 1)] ?? Buffer.alloc(32).toString('hex');
    for (const values of [smallest, largest]) {
      const address = values === largest ? 'fd00::1' : '192.0.2.1';
      for (const { container, pod } of workloads(render(values))) {
        const entries = container.env.map(({ name, value = address }) => [name, value.replace('$(POD_IP)', address)] as const);
        const result = readSettings(Object.fromEntries(entries), readFile);
        assert.deepEqual(result.ok ? result.warnings : result.problems, [], container.name);
        assert.equal(pod.enableServiceLinks, false, 'no setting comes from a Service');
      }
    }
  });

  test('probes the port that answers /healthz and /readyz', () => {
    for (const { container, name } of servers(largest)) {
      const isControl = name === 'up-control';
      const port = isControl ? 'http' : 'metrics';
      const paths = {
        startupProbe: isControl ? '/readyz' : '/healthz',
        livenessProbe: '/healthz',
        // Without the database control still says on the page what is wrong.
        readinessProbe: isControl ? '/healthz' : '/readyz',
      } as const;
      for (const [probe, path] of Object.entries(paths)) {
        const { httpGet, timeoutSeconds, failureThreshold } = container[probe as keyof typeof paths];
        assert.deepEqual(httpGet, { path, port }, `${name} ${probe}`);
        // docs/operations.md, What a health check must tolerate: 2.2 s on a machine at 100 %.
        assert.ok(timeoutSeconds >= 10 && failureThreshold >= 3, `${name} ${probe}`);
      }
      const settings = envOf({ container } as Workload);
      const numbers = Object.fromEntries((container.ports ?? []).map((each) => [each.name, each.containerPort]));
      assert.equal(numbers.metrics, Number(settings.UNDERPASS_METRICS_PORT));
      if (port === 'metrics') assert.equal(numbers.https, Number(settings.UNDERPASS_EDGE_HTTPS_PORT));
    }
  });

  test('gives a pod time to leave the balancer, to drain and to end before Kubernetes kills it', () => {
    const graces = servers(largest).map((server) => {
      const script = server.container.lifecycle.preStop.exec.command.at(-1) ?? '';
      const leave = Number(/, (\d+)\)/.exec(script)?.[1]) / 1_000;
      const drain = Number(envOf(server).UNDERPASS_DRAIN_SECONDS ?? 5);
      return [server.name, leave, drain, server.pod.terminationGracePeriodSeconds - leave - drain];
    });
    assert.deepEqual(graces, [
      ['up-control', 5, 5, 35],
      ['up-edge-eu', 30, 120, 15],
      ['up-edge-us', 0, 600, 15],
    ]);
  });

  test('replaces pods one by one, and waits for clients to find the new one', () => {
    for (const { name, minReadySeconds, pod, labels } of servers(largest)) {
      // client/carry looks for a second edge after 5, 15 and 35 s.
      assert.ok(minReadySeconds >= (name === 'up-control' ? 15 : 35), name);
      assert.deepEqual(
        pod.topologySpreadConstraints.map(({ topologyKey }) => topologyKey),
        ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'],
      );
      for (const { labelSelector } of pod.topologySpreadConstraints) {
        for (const [key, value] of Object.entries(labelSelector.matchLabels)) assert.equal(labels[key], value);
      }
    }
    for (const { spec } of named(render(largest), 'Deployment')) {
      const { strategy } = spec as { strategy: { rollingUpdate: object } };
      assert.deepEqual(strategy.rollingUpdate, { maxUnavailable: 0, maxSurge: 1 });
    }
  });

  test('keeps the visitor address in the service of each region, and lets no drain take two pods', () => {
    const objects = render({ ...smallest, regions: [region, { ...region, name: 'us', service: { type: 'NodePort' } }] });
    for (const name of ['up-edge-eu', 'up-edge-us']) {
      assert.equal(specOf<{ maxUnavailable: number }>(objects, 'PodDisruptionBudget', name).maxUnavailable, 1);
      assert.equal(specOf<{ externalTrafficPolicy: string }>(objects, 'Service', name).externalTrafficPolicy, 'Local');
    }
  });

  test('leaves the number of replicas to the autoscaler if it is enabled', () => {
    const objects = render(largest);
    const replicas = named(objects, 'Deployment').map(({ metadata, spec }) => [
      metadata.name,
      (spec as { replicas?: number }).replicas,
    ]);
    assert.deepEqual(Object.fromEntries(replicas), { 'up-control': undefined, 'up-edge-eu': 3, 'up-edge-us': undefined });
    assert.deepEqual(
      named(objects, 'HorizontalPodAutoscaler').map(({ metadata }) => metadata.name),
      ['up-control', 'up-edge-us'],
    );
  });

  test("takes a region's own value instead of the common one, also if it is 0 or false", () => {
    const [, eu, us] = servers(largest);
    assert.ok(eu !== undefined && us !== undefined);
    assert.deepEqual([envOf(eu).UNDERPASS_EDGE_WORKERS, envOf(us).UNDERPASS_EDGE_WORKERS], ['2', '0']);
    assert.deepEqual([envOf(us).UNDERPASS_EDGE_CONNECTIONS, envOf(us).UNDERPASS_LOG], ['1000000', 'info']);
    assert.equal(us.container.resources.limits.memory, '4Gi');
    assert.deepEqual(us.container.resources.requests, eu.container.resources.requests);
    assert.equal(envOf(eu).UNDERPASS_HOP_SECRET_FILE, '/run/secrets/underpass/hop-secret');
  });

  test('opens the ports of tcp tunnels in the edge, its Service and its policy, and none without a range', () => {
    const texts = (tcpPorts: string) => {
      const objects = render({ ...smallest, edge: { tcpPorts } });
      const name = 'up-edge-eu';
      const { ports } = specOf<{ readonly ports: readonly { readonly name: string; readonly port: number }[] }>(
        objects,
        'Service',
        name,
      );
      return {
        service: ports.map((each) => `${each.name} ${each.port}`),
        rest: JSON.stringify([specOf(objects, 'Deployment', name), specOf(objects, 'NetworkPolicy', name)]),
      };
    };
    const { service, rest } = texts('20000-20002');
    assert.deepEqual(service, ['https 443', 'http 80', 'tcp-20000 20000', 'tcp-20001 20001', 'tcp-20002 20002']);
    assert.ok(rest.includes('{"name":"UNDERPASS_TCP_PORTS","value":"20000-20002"}'));
    assert.ok(rest.includes('{"port":20000,"endPort":20002}'));
    assert.deepEqual(texts('20007').service.slice(2), ['tcp-20007 20007']);
    assert.equal(texts('').service.length, 2);
    assert.ok(!texts('').rest.includes('UNDERPASS_TCP_PORTS'));
  });

  test('lets only the edges of a region reach its hop port, and control only what it needs', () => {
    const objects = render(smallest);
    type Rule = { readonly ports: readonly { readonly port: unknown }[]; readonly from?: unknown; readonly to?: unknown };
    const rules = (name: string, side: 'ingress' | 'egress'): unknown =>
      specOf<Readonly<Record<string, readonly Rule[]>>>(objects, 'NetworkPolicy', name)[side]?.map(({ ports, from, to }) => [
        ports.map(({ port }) => port).join(),
        from ?? to ?? 'any',
      ]);
    const edges = {
      podSelector: {
        matchLabels: {
          'app.kubernetes.io/instance': 'up',
          'app.kubernetes.io/component': 'edge',
          'underpass.dev/region': 'eu',
        },
      },
    };
    const metrics = ['metrics', [{ namespaceSelector: {} }]];
    assert.deepEqual(rules('up-edge-eu', 'ingress'), [['https,http', 'any'], ['hop', [edges]], metrics]);
    assert.deepEqual(rules('up-edge-eu', 'egress'), [
      ['53,53', 'any'],
      ['443,8443', 'any'],
      ['8444', [edges]],
    ]);
    assert.deepEqual(rules('up-control', 'ingress'), [['http', 'any'], metrics]);
    assert.deepEqual(rules('up-control', 'egress'), [
      ['53,53', 'any'],
      ['5432', 'any'],
      ['4222', 'any'],
      ['25,465,587', 'any'],
      ['443', 'any'],
    ]);
    assert.equal(rules('up-migrate', 'ingress'), undefined, 'nobody reaches the migration');
  });

  test('migrates the database before it changes anything else, and stops at a failure', () => {
    const hooks = render(smallest).filter(({ metadata }) => 'annotations' in metadata);
    const order = hooks.map(({ kind, metadata }) => {
      const { annotations } = metadata as unknown as { annotations: Labels };
      assert.equal(annotations['helm.sh/hook'], 'pre-install,pre-upgrade');
      return [kind, Number(annotations['helm.sh/hook-weight'])];
    });
    assert.deepEqual(Object.fromEntries(order), { ServiceAccount: -5, NetworkPolicy: -5, Job: 0 });
    const { podFailurePolicy, activeDeadlineSeconds } = specOf<Readonly<Record<string, unknown>>>(hooks, 'Job', 'up-migrate');
    assert.equal(activeDeadlineSeconds, 600);
    assert.match(JSON.stringify(podFailurePolicy), new RegExp(`FailJob.*"values":\\[${exitCodes.settings}\\]`));
  });

  test('takes every secret that a server can have as a key of a Secret', () => {
    const given = new Set(servers(largest).flatMap((server) => Object.keys(envOf(server))));
    const secrets = Object.values(settingTable).flatMap(({ name, secret }) => (secret ? [`${name}_FILE`] : []));
    assert.deepEqual(
      secrets.filter((name) => !given.has(name)),
      [],
    );
  });

  test('refuses every secret as a plain setting', () => {
    const { definitions } = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
    const { pattern, not } = definitions.env.propertyNames as { pattern: string; not: { enum: readonly string[] } };
    const secrets = Object.values(settingTable)
      .filter((row) => row.secret)
      .flatMap(({ name }) => [name, `${name}_FILE`]);
    assert.deepEqual(
      secrets.filter((name) => new RegExp(pattern).test(name) && !not.enum.includes(name)),
      [],
    );
    const own = [...servers(largest), ...servers(smallest)].flatMap((server) => Object.keys(envOf(server)));
    const free = new Set([...Object.keys(largest.control.env), ...Object.keys(largest.edge.env), 'POD_IP']);
    assert.deepEqual(
      own.filter((name) => name.startsWith('UNDERPASS_') && !free.has(name) && !not.enum.includes(name)),
      [],
    );
  });

  for (const [what, wrong] of Object.entries({
    'an origin without https': { ...smallest, origin: 'http://console.example.com' },
    'no secret': { ...smallest, existingSecret: '' },
    'a region with an odd name': { ...smallest, regions: [{ ...region, name: 'EU west' }] },
    'a region without a host': { ...smallest, regions: [{ ...region, host: '' }] },
    'a misspelt key of a region': { ...smallest, regions: [{ ...region, replica: 2 }] },
    'a misspelt key of all edges': { ...smallest, edge: { replica: 2 } },
    'a misspelt key of control': { ...smallest, control: { replica: 2 } },
    'a misspelt key at the top': { ...smallest, region: [] },
    'a region twice': { ...smallest, regions: [region, region] },
    'a name over 63 characters': { ...smallest, regions: [{ ...region, name: 'a'.repeat(42) }], release: 'b'.repeat(20) },
    'a secret in the values': { ...smallest, control: { env: { UNDERPASS_MASTER_KEY: 'x' } } },
    'a setting that the chart makes': { ...smallest, edge: { env: { UNDERPASS_HOP_PORT: '1' } } },
    'an unknown key of the secret': { ...smallest, secretKeys: ['token'] },
    'ports of tcp tunnels that are no range': { ...smallest, edge: { tcpPorts: '20000,20001' } },
    'ports of tcp tunnels that are reserved': { ...smallest, edge: { tcpPorts: '1000-1023' } },
    'ports of tcp tunnels that do not exist': { ...smallest, edge: { tcpPorts: '65000-99999' } },
    'ports of tcp tunnels from high to low': { ...smallest, edge: { tcpPorts: '20100-20000' } },
    'a balancer by name': { ...smallest, edge: { trustedBalancers: ['balancer.example.com'] } },
  })) {
    test(`refuses ${what}`, () => assert.notEqual(helm(wrong).status, 0));
  }

  // Keep this one last: one compilation takes as long for all renderings as for one.
  test('renders only manifests that Kubernetes accepts, also with the values of the docs', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8');
    const examples = readBlocks('operations.md', page).filter((block) => block.values.file === 'values.yaml');
    assert.equal(examples.length, 1);
    for (const { text } of examples) assert.ok(render(parse(text)).length > 0);
    assert.ok([...rendered.values()].some(({ kind }) => kind === 'PodMonitor'));
    assert.deepEqual(await kubernetesComplaints([...rendered.values()]), []);
  });
});

const podLabelsOf = (spec: unknown): Labels => (spec as { podSelector: { matchLabels: Labels } }).podSelector.matchLabels;

/** Ports that are given by name, at any depth. */
function namedPorts(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namedPorts);
  if (typeof value !== 'object' || value === null) return [];
  const { port, targetPort = port } = value as { port?: unknown; targetPort?: unknown };
  const here = typeof targetPort === 'string' ? [targetPort] : [];
  return [...here, ...Object.values(value).flatMap(namedPorts)];
}

const service = (spec: unknown) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' }, spec });

const podMonitor = (spec: object) => ({
  ...{ apiVersion: 'monitoring.coreos.com/v1', kind: 'PodMonitor', metadata: { name: 'x' } },
  spec: { selector: {}, ...spec },
});

test('the check of manifests reports an unknown field', async () => {
  const wrong = [service({ sessionAfinity: 'None' }), podMonitor({ podMetricEndpoints: [] })];
  const complaints = (await kubernetesComplaints(wrong)).join();
  assert.match(complaints, /sessionAfinity/);
  assert.match(complaints, /podMetricEndpoints/);
});

test('the check of manifests reports a wrong value', async () => {
  const complaints = (await kubernetesComplaints([service({ type: 5 }), podMonitor({ sampleLimit: 'many' })])).join();
  assert.match(complaints, /Service x: .*type/);
  assert.match(complaints, /PodMonitor x: .*sampleLimit/);
});

test('the check of manifests fails on a kind without a schema', async () => {
  await assert.rejects(kubernetesComplaints([{ ...service({}), kind: 'Servce' }]));
});
