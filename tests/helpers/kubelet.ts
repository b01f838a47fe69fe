// A node of a test's cluster: it runs each pod's container as a process, in a network namespace with the pod's own address and with
// the pod's volumes mounted, and does what a kubelet does about hooks, probes, restarts and ends. It pulls no image: `program` says
// what to run for a command of an image. One container in each pod. Works only in a network of its own (own-network.ts).
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { ChangeType, Cluster } from './cluster.ts';
import { requireTool } from './tool.ts';

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string | number };
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly lifecycle?: { readonly preStop?: { readonly exec: { readonly command: readonly string[] } } };
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

interface Volume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly secret?: { readonly secretName: string; readonly items: readonly { readonly key: string; readonly path: string }[] };
}

export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
    readonly containers: readonly [Container];
    readonly volumes?: readonly Volume[];
  };
}

export interface KubeletOptions {
  /** What to run on this machine for a command of an image; without a command, for its entry point with `args`. */
  readonly program: (image: string, command: readonly string[]) => readonly string[];
  readonly entrypoint: readonly string[];
  /** Variables that the image has. */
  readonly env: Readonly<Record<string, string>>;
}

/** What has happened to a pod; a test that failed prints it. */
export interface PodLife {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  /** Exit codes, in order. A code over 128 is a signal of the kubelet or of somebody else. */
  readonly exits: number[];
  /** Set if the grace period was over and the container was killed. */
  killed: boolean;
  /** How long the last stop took: preStop, SIGTERM and the end. */
  stopMs: number;
  readonly text: () => string;
}

export interface Kubelet {
  /** Where pods reach this machine. */
  readonly hostAddress: string;
  /** All pods that it has started, those that are gone too. */
  readonly lives: readonly PodLife[];
  /** Does what `kubectl exec` does; throws unless the command exits with 0. */
  exec(pod: string, command: readonly string[]): Promise<string>;
}

const nodeName = 'node-1';
const hostAddress = '10.244.0.1';
const firstPod = 10;
const ip = (...args: string[]): void => void execFileSync(requireTool('ip'), args);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function startKubelet(t: TestContext, cluster: Cluster, options: KubeletOptions): Promise<Kubelet> {
  if (!process.env.OWN_NETWORK) throw new Error('pods need a network of their own: own-network.ts');
  // Mounts of pods lie there; the machine's own folders get no new ones.
  for (const folder of ['/run/secrets', '/var/lib']) {
    mkdirSync(folder, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'none', folder]);
  }
  ip('link', 'add', 'pods', 'type', 'bridge');
  ip('address', 'add', `${hostAddress}/24`, 'dev', 'pods');
  ip('link', 'set', 'pods', 'up');
  await cluster.mustCall('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } });
  const running = new Map<string, RunningPod>();
  const lives: PodLife[] = [];
  const report = (error: unknown): void =>
    void process.stderr.write(`kubelet: ${error instanceof Error ? error.stack : error}\n`);
  const take = (type: ChangeType, pod: Pod): void => {
    const { uid, deletionTimestamp } = pod.metadata;
    const known = running.get(uid);
    if (type === 'DELETED') return void running.delete(uid);
    if (known !== undefined) {
      if (deletionTimestamp !== undefined) known.stop(pod).catch(report);
      return;
    }
    if (deletionTimestamp !== undefined) return void removePod(cluster, pod).catch(report);
    if (pod.spec.nodeName === undefined) return void bind(cluster, pod).catch(report);
    if (lives.length + firstPod > 254) throw new Error('no address is left for another pod');
    const started = new RunningPod(cluster, pod, `10.244.0.${lives.length + firstPod}`, options);
    running.set(uid, started);
    lives.push(started.life);
    started.start().catch(report);
  };
  cluster.follow<Pod>('/api/v1/pods', take);
  t.after(async () => {
    await Promise.all([...running.values()].map((each) => each.kill()));
  });
  return {
    hostAddress,
    lives,
    exec: (name, command) => {
      const found = [...running.values()].find(({ life }) => life.name === name);
      if (found === undefined) throw new Error(`no pod ${name} runs`);
      return found.exec(command);
    },
  };
}

const pathOfPod = ({ metadata }: Pod): string => `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;

/** Removes the pod. No error if a controller has removed or replaced it already. */
async function removePod(cluster: Cluster, pod: Pod): Promise<void> {
  const { status, body } = await cluster.call('DELETE', pathOfPod(pod), {
    ...{ apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 },
    preconditions: { uid: pod.metadata.uid },
  });
  if (status >= 300 && status !== 404 && status !== 409) throw new Error(`delete ${pod.metadata.name}: ${JSON.stringify(body)}`);
}

async function bind(cluster: Cluster, pod: Pod): Promise<void> {
  const body = {
    ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name: pod.metadata.name } },
    target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
  };
  const { status, body: answer } = await cluster.call('POST', `${pathOfPod(pod)}/binding`, body);
  if (status >= 300 && status !== 404 && status !== 409) throw new Error(`bind ${pod.metadata.name}: ${JSON.stringify(answer)}`);
}

let networks = 0;

class RunningPod {
  readonly life: PodLife;
  readonly #cluster: Cluster;
  readonly #pod: Pod;
  readonly #container: Container;
  readonly #options: KubeletOptions;
  readonly #network = `pod${++networks}`;
  readonly #startedAt = new Date().toISOString();
  #mounts: readonly string[] = [];
  #child: ChildProcess | undefined;
  #text = '';
  #ready = false;
  #restarts = 0;
  #stopping = false;
  #ended = false;
  /** One write of the status at a time, so that the last one wins. */
  #writes: Promise<void> = Promise.resolve();

  constructor(cluster: Cluster, pod: Pod, address: string, options: KubeletOptions) {
    this.#cluster = cluster;
    this.#pod = pod;
    [this.#container] = pod.spec.containers;
    this.#options = options;
    const { name, labels } = pod.metadata;
    this.life = { name, labels, address, exits: [], killed: false, stopMs: 0, text: () => this.#text };
  }

  async start(): Promise<void> {
    ip('netns', 'add', this.#network);
    ip('link', 'add', this.#network, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#network);
    ip('link', 'set', this.#network, 'master', 'pods', 'up');
    ip('-n', this.#network, 'link', 'set', 'lo', 'up');
    ip('-n', this.#network, 'address', 'add', `${this.life.address}/24`, 'dev', 'eth0');
    ip('-n', this.#network, 'link', 'set', 'eth0', 'up');
    ip('-n', this.#network, 'route', 'add', 'default', 'via', hostAddress);
    this.#mounts = await this.#prepareVolumes();
    await this.#runContainer();
  }

  /** Mount commands of the pod's volumes. A missing Secret or key throws, and the pod stays pending. */
  async #prepareVolumes(): Promise<readonly string[]> {
    const folders = new Map<string, string>();
    for (const { name, secret } of this.#pod.spec.volumes ?? []) {
      const folder = mkdtempSync(join(tmpdir(), `volume-${name}-`));
      chmodSync(folder, 0o755);
      folders.set(name, folder);
      if (secret === undefined) continue;
      const path = `/api/v1/namespaces/${this.#pod.metadata.namespace}/secrets/${secret.secretName}`;
      const { data } = await this.#cluster.mustCall<{ data: Record<string, string> }>('GET', path);
      for (const { key, path: file } of secret.items) {
        const value = data[key];
        if (value === undefined) throw new Error(`${this.life.name}: the Secret ${secret.secretName} has no key ${key}`);
        writeFileSync(join(folder, file), Buffer.from(value, 'base64'));
      }
    }
    return (this.#container.volumeMounts ?? []).flatMap(({ name, mountPath, readOnly = false }) => {
      // The program sees the folder there, and only in its own mounts.
      mkdirSync(mountPath, { recursive: true });
      const bound = `mount --bind '${folders.get(name)}' '${mountPath}'`;
      return readOnly ? [bound, `mount -o remount,bind,ro '${mountPath}'`] : [bound];
    });
  }

  #environment(): string[] {
    const known = new Map<string, string>();
    for (const { name, value } of this.#container.env ?? []) {
      // The only field that the chart asks for is the pod's address.
      const given = value ?? this.life.address;
      known.set(
        name,
        given.replace(/\$\((\w+)\)/g, (whole, of) => known.get(of) ?? whole),
      );
    }
    return Object.entries({ ...this.#options.env, ...Object.fromEntries(known) }).map(([name, value]) => `${name}=${value}`);
  }

  async #runContainer(): Promise<void> {
    const { image, command, args = [] } = this.#container;
    const argv = this.#options.program(image, [...(command ?? this.#options.entrypoint), ...args]);
    const script = [...this.#mounts, 'exec env -i "$@"'].join('\n');
    const inside = ['sh', '-ec', script, 'sh', ...this.#environment(), ...argv];
    // `ip netns exec` gives the process mounts of its own, too.
    const child = spawn(requireTool('ip'), ['netns', 'exec', this.#network, ...inside], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (part: string) => {
        this.#text = (this.#text + part).slice(-100_000);
      });
    }
    child.once('close', (code) => void this.#containerEnded(child, code ?? 137));
    await this.#write('Running', { running: { startedAt: this.#startedAt } });
    void this.#probe(child);
  }

  async #containerEnded(child: ChildProcess, exitCode: number): Promise<void> {
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#ready = false;
    this.life.exits.push(exitCode);
    const { restartPolicy } = this.#pod.spec;
    const again = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exitCode !== 0);
    if (this.#ended) return;
    if (again && !this.#stopping) {
      this.#restarts += 1;
      await this.#write('Running', { waiting: { reason: 'CrashLoopBackOff' } });
      await sleep(1_000);
      if (!this.#stopping) await this.#runContainer();
      return;
    }
    const terminated = {
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      startedAt: this.#startedAt,
      finishedAt: new Date().toISOString(),
    };
    await this.#write(exitCode === 0 ? 'Succeeded' : 'Failed', { terminated });
  }

  async #probe(child: ChildProcess): Promise<void> {
    const { startupProbe, readinessProbe, livenessProbe } = this.#container;
    if (startupProbe !== undefined) {
      const passed = await this.#until(child, startupProbe, true);
      if (!passed) return void child.kill('SIGKILL');
    }
    if (readinessProbe === undefined) await this.#setReady(true);
    else void this.#keepAsking(child, readinessProbe, (isGood) => this.#setReady(isGood));
    if (livenessProbe === undefined) return;
    await this.#until(child, livenessProbe, false);
    if (this.#child === child && !this.#stopping) child.kill('SIGTERM');
  }

  /** Resolves with true at the first good answer if `good` is wanted, else with false after as many bad ones as the probe allows. */
  async #until(child: ChildProcess, probe: Probe, good: boolean): Promise<boolean> {
    for (let bad = 0; this.#child === child; ) {
      const isGood = await this.#answers(probe);
      if (isGood && good) return true;
      bad = isGood ? 0 : bad + 1;
      if (bad >= (probe.failureThreshold ?? 3)) return false;
      await sleep((probe.periodSeconds ?? 10) * 1_000);
    }
    return false;
  }

  /** Goes on while the pod is stopping, as a kubelet does. */
  async #keepAsking(child: ChildProcess, probe: Probe, onChange: (isGood: boolean) => Promise<void>): Promise<void> {
    let bad = 0;
    while (this.#child === child) {
      bad = (await this.#answers(probe)) ? 0 : bad + 1;
      if (this.#child !== child) return;
      const isReady = bad === 0 || (this.#ready && bad < (probe.failureThreshold ?? 3));
      if (isReady !== this.#ready) await onChange(isReady);
      await sleep((probe.periodSeconds ?? 10) * 1_000);
    }
  }

  async #answers({ httpGet, timeoutSeconds = 1 }: Probe): Promise<boolean> {
    const named = this.#container.ports?.find(({ name }) => name === httpGet.port)?.containerPort;
    const url = `http://${this.life.address}:${named ?? httpGet.port}${httpGet.path}`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutSeconds * 1_000), redirect: 'manual' }).catch(
      () => null,
    );
    await answer?.body?.cancel();
    return answer !== null && answer.status >= 200 && answer.status < 400;
  }

  async #setReady(isReady: boolean): Promise<void> {
    this.#ready = isReady;
    await this.#write('Running', { running: { startedAt: this.#startedAt } });
  }

  async #write(phase: string, state: object): Promise<void> {
    const { name, image } = this.#container;
    const now = new Date().toISOString();
    const condition = (type: string, holds: boolean) => ({ type, status: holds ? 'True' : 'False', lastTransitionTime: now });
    const ready = this.#ready;
    const status = {
      ...{
        phase,
        hostIP: hostAddress,
        podIP: this.life.address,
        podIPs: [{ ip: this.life.address }],
        startTime: this.#startedAt,
      },
      conditions: [
        ...[condition('PodScheduled', true), condition('Initialized', true)],
        ...[condition('ContainersReady', ready), condition('Ready', ready)],
      ],
      containerStatuses: [{ name, image, imageID: image, ready, started: ready, restartCount: this.#restarts, state }],
    };
    this.#writes = this.#writes.then(async () => {
      const path = `${pathOfPod(this.#pod)}/status`;
      const answer = await this.#cluster.call('PATCH', path, { status }, 'application/merge-patch+json').catch(() => undefined);
      if (answer !== undefined && answer.status >= 300 && answer.status !== 404)
        process.stderr.write(`kubelet: status of ${this.life.name}: ${JSON.stringify(answer.body)}\n`);
    });
    await this.#writes;
  }

  /** Stops the container as Kubernetes does: preStop, SIGTERM, and SIGKILL once the grace period is over. */
  async stop(pod: Pod): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    const started = performance.now();
    const child = this.#child;
    const killing = setTimeout(
      () => {
        this.life.killed = child?.kill('SIGKILL') === true;
      },
      (pod.metadata.deletionGracePeriodSeconds ?? 30) * 1_000,
    );
    const preStop = this.#container.lifecycle?.preStop?.exec.command;
    if (child !== undefined) {
      const closed = once(child, 'close');
      if (preStop !== undefined) await this.exec(preStop).catch((error) => process.stderr.write(`kubelet: preStop: ${error}\n`));
      child.kill('SIGTERM');
      await closed;
    }
    clearTimeout(killing);
    this.life.stopMs = performance.now() - started;
    await this.#writes;
    await removePod(this.#cluster, pod);
    ip('netns', 'delete', this.#network);
  }

  async exec(command: readonly string[]): Promise<string> {
    const argv = this.#options.program(this.#container.image, command);
    const enter = ['--target', String(this.#child?.pid), '--net', '--mount', '--', 'env', '-i', ...this.#environment(), ...argv];
    const child = spawn('nsenter', enter, { stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'close');
    const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = await ended;
    if (code !== 0) throw new Error(`${command.join(' ')} in ${this.life.name}: ${code} ${problems}${out}`);
    return out;
  }

  async kill(): Promise<void> {
    this.#ended = true;
    this.#stopping = true;
    const child = this.#child;
    if (child === undefined) return;
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }
}
