// Plays what a cluster does with workloads: makes pods of their templates, which the API server must admit, and runs each as a
// process of this repository with the command, the environment and the secrets that the pod says. Every pod has an address of
// its own on loopback.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Cluster } from '../helpers/cluster.ts';
import { eventually } from '../helpers/load.ts';
import { type ProcessOf, startProcess, temporaryHome } from '../helpers/process.ts';

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface Template {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly {
      readonly args: readonly string[];
      readonly env: readonly Variable[];
      readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
      readonly readinessProbe?: Probe;
    }[];
    readonly volumes: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
  };
}

export interface Workload {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly replicas?: number; readonly template: Template };
}

export interface Pod {
  readonly name: string;
  readonly address: string;
  readonly env: Readonly<Record<string, string>>;
  readonly process: ProcessOf;
  /** Resolves once the readiness probe of the template answers 200, and tells the API server. */
  ready(): Promise<void>;
}

let pods = 0;

/** `over` replaces values that only a real network has, such as the public address of the dashboard. */
export async function runPod(
  t: TestContext,
  cluster: Cluster,
  namespace: string,
  template: Template,
  over: Readonly<Record<string, string>> = {},
): Promise<Pod> {
  pods += 1;
  const name = `pod-${pods}`;
  const address = `127.0.1.${pods}`;
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const pod = { apiVersion: 'v1', kind: 'Pod', ...template, metadata: { ...template.metadata, name } };
  const { warnings } = await cluster.call('POST', path, pod);
  assert.deepEqual(warnings, [], `${name} is admitted without a warning`);

  const home = await temporaryHome(t);
  const secrets = join(home, 'secrets');
  await mkdir(secrets);
  for (const { secret } of template.spec.volumes) {
    if (secret === undefined) continue;
    const answer = await cluster.call<{ data: Record<string, string> }>(
      'GET',
      `/api/v1/namespaces/${namespace}/secrets/${secret.secretName}`,
    );
    for (const [key, value] of Object.entries(answer.body.data))
      await writeFile(join(secrets, key), Buffer.from(value, 'base64'), { mode: 0o600 });
  }
  const [container] = template.spec.containers;
  assert.ok(container);
  const env: Record<string, string> = { UNDERPASS_LISTEN: address };
  for (const { name: variable, value, valueFrom } of container.env) {
    const given = valueFrom?.fieldRef.fieldPath === 'status.podIP' ? address : (value ?? '');
    env[variable] = given
      .replace('$(POD_IP)', address)
      .replace(/^0\.0\.0\.0$/, address)
      .replace('/run/secrets/underpass', secrets)
      .replace('/var/lib/underpass', home);
  }
  Object.assign(env, over);
  const process = startProcess(t, ['server/main.ts', ...container.args], env);
  const probe = container.readinessProbe?.httpGet;
  const port = container.ports?.find((each) => each.name === probe?.port)?.containerPort ?? 0;
  const ask = async (): Promise<number | string> => {
    if (process.child.exitCode !== null) throw new Error(`${name} ended: ${process.text().slice(-3_000)}`);
    return await statusOf(address, port, probe?.path ?? '');
  };
  return {
    name,
    address,
    env,
    process,
    ready: async () => {
      await eventually(ask, (status) => status === 200, 60_000);
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], podIPs: [{ ip: address }] };
      await cluster.call('PATCH', `${path}/${name}/status`, { status }, 'application/merge-patch+json');
    },
  };
}

const statusOf = (host: string, port: number, path: string): Promise<number | string> =>
  new Promise((resolve) => {
    get({ host, port, path, agent: false, timeout: 10_000 }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).on('error', (error) => resolve(error.message));
  });

interface Job extends Workload {
  readonly status: { readonly conditions?: readonly unknown[] };
}

/** Runs the Jobs of this namespace as they come, until it is stopped or a Job cannot be run. Returns how each ended. */
export function runJobs(
  t: TestContext,
  cluster: Cluster,
  namespace: string,
): { readonly exits: readonly number[]; stop(): Promise<void> } {
  const path = `/apis/batch/v1/namespaces/${namespace}/jobs`;
  const exits: number[] = [];
  let isOver = false;
  const turn = async (): Promise<void> => {
    const { body } = await cluster.call<{ items: readonly Job[] }>('GET', path);
    for (const { metadata, spec, status } of body.items) {
      if (status.conditions !== undefined) continue;
      const startTime = new Date().toISOString().replace(/\.\d+/, '');
      const pod = await runPod(t, cluster, namespace, spec.template);
      const code = await new Promise<number>((resolve) => pod.process.child.once('exit', (exit) => resolve(exit ?? -1)));
      exits.push(code);
      const [now, did] = [new Date().toISOString().replace(/\.\d+/, ''), code === 0];
      const condition = (type: string) => ({
        type,
        status: 'True',
        lastTransitionTime: now,
        lastProbeTime: now,
        reason: did ? 'CompletionsReached' : 'PodFailurePolicy',
      });
      const ended = did
        ? { startTime, completionTime: now, succeeded: 1, conditions: [condition('SuccessCriteriaMet'), condition('Complete')] }
        : { startTime, failed: 1, conditions: [condition('FailureTarget'), condition('Failed')] };
      const counts = { ready: 0, terminating: 0, uncountedTerminatedPods: {} };
      await cluster.call(
        'PATCH',
        `${path}/${metadata.name}/status`,
        { status: { ...ended, ...counts } },
        'application/merge-patch+json',
      );
    }
  };
  const loop = (async () => {
    while (!isOver) {
      // After a failed test the API server is away.
      await turn().catch(() => {
        isOver = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  })();
  return {
    exits,
    stop: async () => {
      isOver = true;
      await loop;
    },
  };
}
