import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import { type ISecret, Secret } from 'kubernetes-models/v1/Secret';
import { parseAllDocuments, parseDocument } from 'yaml';
import { eachCase } from '../test-kit.ts';
import type { ConnectTunnel, ConnectUpstreams } from './command.ts';
import { renderKubernetesSnippet } from './kubernetes-snippet.ts';
import { resourceName } from './resource-name.ts';
import {
  expectedArguments,
  hostileTunnel,
  hostileUpstreams,
  hostileValues,
  plainHttp,
  plainIngress,
  plainTunnel,
} from './test-kit.ts';
import { quoteYamlScalar } from './yaml-scalar.ts';

interface Manifest {
  readonly secret: ISecret;
  readonly deployment: IDeployment;
}

/** Duplicate keys are refused. */
function parseYaml(text: string, version: '1.1' | '1.2'): unknown[] {
  const documents = parseAllDocuments(text, { version, uniqueKeys: true, strict: true });
  assert.ok(Array.isArray(documents));
  for (const document of documents) assert.deepEqual([...document.errors, ...document.warnings], []);
  return documents.map((document) => document.toJS());
}

/** The same to a YAML 1.1 parser, which Kubernetes has, and to one of 1.2; valid by its schema. */
function parseManifest(text: string): Manifest {
  const parsed = parseYaml(text, '1.1');
  assert.deepEqual(parseYaml(text, '1.2'), parsed);
  const [secret, deployment, ...more] = parsed as [ISecret, IDeployment];
  assert.equal(more.length, 0);
  new Secret(secret).validate();
  new Deployment(deployment).validate();
  return { secret, deployment };
}

function render(tunnel: ConnectTunnel, upstreams: ConnectUpstreams): Manifest {
  return parseManifest(renderKubernetesSnippet(tunnel, upstreams).text);
}

/** What the kubelet hands to the process: `$$` is a dollar sign and `$(NAME)` would be expanded. */
function expandArgument(argument: string): string {
  return argument.replace(/\$(\$|\([^)]*\))/g, (_, next: string) =>
    next === '$' ? '$' : assert.fail(`${argument} is expanded`),
  );
}

function checkManifest(tunnel: ConnectTunnel, upstreams: ConnectUpstreams): void {
  const { secret, deployment } = render(tunnel, upstreams);
  const [container] = deployment.spec!.template.spec!.containers;
  const expected = expectedArguments(tunnel, upstreams, '/var/run/secrets/underpass/token');
  assert.deepEqual(
    container!.args!.map(expandArgument),
    expected.map((word) => word.toWellFormed()),
  );
  assert.equal(container!.image, `ghcr.io/underpass/underpass:${tunnel.underpassVersion}`);
  assert.deepEqual(secret.stringData, { token: tunnel.token });
  const name = `underpass-${resourceName(tunnel.name)}`;
  assert.match(name, /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$/);
  assert.equal(secret.metadata!.name, name);
  assert.equal(deployment.metadata!.name, name);
  assert.deepEqual(deployment.spec!.selector.matchLabels, deployment.spec!.template.metadata!.labels);
}

test('the deployment has the constants of the spec', () => {
  const { secret, deployment } = render(plainTunnel, plainHttp);
  const pod = deployment.spec!.template.spec!;
  const [container] = pod.containers;
  assert.equal(deployment.spec!.replicas, 1);
  assert.deepEqual(container!.resources, { requests: { memory: '25Mi', cpu: '100m' } });
  assert.equal(pod.securityContext!.runAsNonRoot, true);
  assert.equal(pod.securityContext!.runAsUser, 1000);
  assert.equal(container!.securityContext!.readOnlyRootFilesystem, true);
  assert.equal(container!.securityContext!.allowPrivilegeEscalation, false);
  assert.equal(container!.image, 'ghcr.io/underpass/underpass:1.2.3');
  assert.equal(pod.volumes![0]!.secret!.secretName, secret.metadata!.name);
  assert.equal(pod.volumes![0]!.secret!.defaultMode, 0o400);
  assert.equal(container!.volumeMounts![0]!.name, pod.volumes![0]!.name);
});

test('the token is in the Secret and nowhere else', () => {
  const { secret, deployment } = render(plainTunnel, plainHttp);
  assert.deepEqual(secret.stringData, { token: plainTunnel.token });
  assert.equal(JSON.stringify(deployment).includes(plainTunnel.token), false);
});

test('the arguments are those of the command line', () => {
  checkManifest(plainTunnel, plainHttp);
  checkManifest(plainTunnel, plainIngress);
});

test('the deployment of a private tunnel says so, and takes its key from the Secret', () => {
  const upstreams: ConnectUpstreams = { type: 'tcp', upstream: 'database:5432' };
  const argumentsOf = (isPrivate: boolean) =>
    render({ ...plainTunnel, isPrivate }, upstreams).deployment.spec!.template.spec!.containers[0]!.args!;
  const words = argumentsOf(true);
  assert.ok(words.includes('--private'), words.join(' '));
  assert.equal(words[words.indexOf('--key-file') + 1], '/var/run/secrets/underpass/reach.pem');
  assert.doesNotMatch(argumentsOf(false).join(' '), /--private|--key-file/);
});

test('hostile values in every input are only ever values', (t) => {
  eachCase(t, hostileValues, (value) => {
    const tunnel = { name: value, url: value, token: value, underpassVersion: value };
    checkManifest(tunnel, { type: 'http', upstreams: [{ domain: value, upstream: value }] });
    checkManifest(tunnel, { type: 'ingress', upstream: value });
  });
});

test('random hostile inputs are only ever values', () => {
  fc.assert(
    fc.property(hostileTunnel, hostileUpstreams, (tunnel, upstreams) => checkManifest(tunnel, upstreams)),
    { numRuns: 200 },
  );
});

test('a scalar is read back by YAML and, ASCII kept readable, by JSON', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const scalar = quoteYamlScalar(text);
      assert.match(scalar, /^[ -~]+$/, 'printable ASCII, which every YAML version reads alike');
      const document = parseDocument(`key: ${scalar}\n`);
      assert.deepEqual(document.errors, []);
      assert.deepEqual(document.toJS(), { key: text });
    }),
    { numRuns: 2000 },
  );
  assert.equal(quoteYamlScalar('a "b" \\'), JSON.stringify('a "b" \\'));
});

/** The compiler's excess property check over Kubernetes' own types: answers its complaints. */
function unknownFields(t: TestContext, { secret, deployment }: { secret: unknown; deployment: unknown }): string {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-manifest-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
  symlinkSync(modules, join(folder, 'node_modules'));
  writeFileSync(
    join(folder, 'manifest.ts'),
    `import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { ISecret } from 'kubernetes-models/v1/Secret';
export const secret: ISecret = ${JSON.stringify(secret)};
export const deployment: IDeployment = ${JSON.stringify(deployment)};
`,
  );
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', '', 'manifest.ts'];
  const { stdout } = spawnSync(process.execPath, [join(modules, 'typescript/bin/tsc'), ...options], {
    cwd: folder,
    encoding: 'utf8',
  });
  return stdout;
}

test('no field is unknown to Kubernetes', (t) => {
  assert.equal(unknownFields(t, render(plainTunnel, plainHttp)), '');
});

test('the check for unknown fields sees one, at the top and deep inside', (t) => {
  const { secret, deployment } = render(plainTunnel, plainHttp);
  const spec = deployment.spec!;
  const pod = { ...spec.template.spec!, securityContext: { runAsNonroot: true } };
  const deep = { ...deployment, spec: { ...spec, template: { ...spec.template, spec: pod } } };
  const complaints = unknownFields(t, { secret: { ...secret, stringdata: {} }, deployment: deep });
  assert.match(complaints, /stringdata/);
  assert.match(complaints, /runAsNonroot/);
});
