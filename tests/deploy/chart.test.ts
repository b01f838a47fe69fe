// The Helm chart: rendered by helm, checked against the schemas and types of Kubernetes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readSettings, settingTable } from '@underpass/server/settings/settings.ts';
import { stringify } from 'yaml';
import { type KubernetesObject, kubernetesComplaints, parseManifests } from '../helpers/kubernetes.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

const chart = fileURLToPath(new URL('../../deploy/helm/underpass', import.meta.url));

const region = { name: 'eu', host: 'eu.example.com', existingSecret: 'underpass-eu' };

const smallest = {
  origin: 'https://console.example.com',
  operatorEmail: 'ops@example.com',
  mailFrom: 'Underpass <no-reply@example.com>',
  existingSecret: 'underpass',
  regions: [region],
};

const largest = {
  ...smallest,
  imagePullSecrets: [{ name: 'registry' }],
  control: {
    autoscaling: { enabled: true },
    env: { UNDERPASS_LOG: 'debug' },
    ingress: { className: 'nginx', tlsSecret: 'console-tls', annotations: { 'example.com/a': 'b' } },
  },
  regions: [
    { ...region, replicas: 3, trustedBalancers: ['10.0.0.0/8', 'fd00::/8'] },
    {
      ...region,
      name: 'us',
      host: 'us.example.com',
      existingSecret: 'underpass-us',
      autoscaling: { enabled: true },
      env: { UNDERPASS_LOG: 'info' },
    },
  ],
  metrics: { podMonitor: true },
};

function helm(values: unknown) {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-chart-'));
  try {
    const file = join(folder, 'values.yaml');
    writeFileSync(file, stringify(values));
    const args = ['template', 'up', chart, '-f', file, '--kube-version', '1.31.0'];
    const { status, stdout, stderr } = spawnSync(requireTool('helm'), args, { encoding: 'utf8', timeout: 60_000 });
    return { status, stderr, text: stdout };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function render(values: unknown): KubernetesObject[] {
  const { status, stderr, text } = helm(values);
  assert.equal(status, 0, stderr);
  return parseManifests(text);
}

const named = (objects: readonly KubernetesObject[], kind: string) => objects.filter((object) => object.kind === kind);

interface Pod {
  readonly enableServiceLinks?: boolean;
  readonly securityContext: Record<string, unknown>;
  readonly containers: readonly {
    readonly name: string;
    readonly env: readonly { readonly name: string; readonly value?: string }[];
    readonly securityContext: Record<string, unknown>;
    readonly readinessProbe?: unknown;
    readonly livenessProbe?: unknown;
    readonly resources: unknown;
  }[];
}

function pods(objects: readonly KubernetesObject[]): Pod[] {
  return objects
    .filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
    .map(({ spec }) => (spec as { template: { spec: Pod } }).template.spec);
}

describe('the chart', { skip: skipWithout('helm') }, () => {
  for (const [name, values] of Object.entries({ smallest, largest })) {
    test(`renders manifests that Kubernetes accepts, with the ${name} values`, async () => {
      assert.deepEqual(await kubernetesComplaints(render(values)), []);
    });

    test(`runs no container as root, with a writable root or with privileges, with the ${name} values`, () => {
      for (const pod of pods(render(values))) {
        assert.equal(pod.securityContext.runAsNonRoot, true);
        for (const { securityContext } of pod.containers) {
          assert.equal(securityContext.readOnlyRootFilesystem, true);
          assert.equal(securityContext.allowPrivilegeEscalation, false);
          assert.deepEqual(securityContext.capabilities, { drop: ['ALL'] });
        }
      }
    });

    test(`sets only settings that exist, and secrets only by file, with the ${name} values`, () => {
      const rows = Object.values(settingTable);
      const plain = new Set(rows.filter((row) => !row.secret).map((row) => row.name));
      const files = new Set(rows.filter((row) => row.secret).map((row) => `${row.name}_FILE`));
      for (const pod of pods(render(values))) {
        for (const { name: variable } of pod.containers.flatMap((container) => container.env)) {
          assert.ok(variable === 'POD_IP' || plain.has(variable) || files.has(variable), variable);
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
      'edge-key': 'x'.repeat(43),
    };
    const readFile = (path: string): string => secrets[path.slice(path.lastIndexOf('/') + 1)] ?? assert.fail(path);
    for (const { name, env } of pods(render(largest)).flatMap(({ containers }) => containers)) {
      const result = readSettings(Object.fromEntries(env.map((each) => [each.name, each.value ?? '192.0.2.1'])), readFile);
      assert.deepEqual(result.ok ? result.warnings : result.problems, [], name);
    }
    assert.ok(
      pods(render(largest)).every((pod) => pod.enableServiceLinks === false),
      'no setting comes from a Service',
    );
  });

  test('gives every region edges with probes, a disruption budget and a service that keeps the visitor address', () => {
    const objects = render(largest);
    const edges = named(objects, 'Deployment').filter(({ metadata }) => metadata.name.startsWith('up-edge-'));
    assert.deepEqual(
      edges.map(({ metadata }) => metadata.name),
      ['up-edge-eu', 'up-edge-us'],
    );
    for (const pod of pods(edges)) {
      assert.ok(pod.containers.every((container) => container.readinessProbe && container.livenessProbe && container.resources));
    }
    for (const name of ['up-edge-eu', 'up-edge-us']) {
      assert.ok(named(objects, 'PodDisruptionBudget').some(({ metadata }) => metadata.name === name));
      const [found] = named(objects, 'Service').filter(({ metadata }) => metadata.name === name);
      assert.match(JSON.stringify(found), /"externalTrafficPolicy":"Local"/);
    }
  });

  test('leaves the number of replicas to the autoscaler if it is enabled', () => {
    const deployments = named(render(largest), 'Deployment');
    const replicas = Object.fromEntries(
      deployments.map(({ metadata, spec }) => [metadata.name, (spec as { replicas?: number }).replicas]),
    );
    assert.deepEqual(replicas, { 'up-control': undefined, 'up-edge-eu': 3, 'up-edge-us': undefined });
  });

  test('migrates the database before it replaces pods', () => {
    const [job] = named(render(smallest), 'Job');
    assert.match(JSON.stringify(job?.metadata), /pre-install,pre-upgrade/);
  });

  for (const [what, wrong] of Object.entries({
    'an origin without https': { ...smallest, origin: 'http://console.example.com' },
    'no secret': { ...smallest, existingSecret: '' },
    'a region with an odd name': { ...smallest, regions: [{ ...region, name: 'EU west' }] },
    'a region without a host': { ...smallest, regions: [{ ...region, host: '' }] },
    'a misspelt key of a region': { ...smallest, regions: [{ ...region, replica: 2 }] },
  })) {
    test(`refuses ${what}`, () => assert.notEqual(helm(wrong).status, 0));
  }
});

const service = (spec: unknown) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' }, spec });

test('the check of manifests reports an unknown field', async () => {
  assert.match((await kubernetesComplaints([service({ sessionAfinity: 'None' })])).join(), /sessionAfinity/);
});

test('the check of manifests reports a wrong value', async () => {
  assert.match((await kubernetesComplaints([service({ type: 5 })])).join(), /type/);
});
