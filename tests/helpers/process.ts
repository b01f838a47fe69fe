// The product as separate processes, started as a user starts them: for tests that measure or kill one of them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePorts } from './port.ts';

const root = join(import.meta.dirname, '../..');
const startTimeoutMs = 60_000;
const serverArguments = ['server/main.ts', 'start'];

export interface ProcessOf {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Everything that it has printed. */
  readonly text: () => string;
  /** Resolves with the match once the printed text matches. */
  seen(words: RegExp): Promise<RegExpExecArray>;
  /** Resolves once something listens on that port, of 127.0.0.1 unless given. */
  listening(port: number, host?: string): Promise<void>;
  /** Sends the signal and waits for the exit. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** Where a process started here writes how much memory it holds (weigh-program.ts). */
const weights = mkdtempSync(join(tmpdir(), 'underpass-weights-'));
process.once('exit', () => rmSync(weights, { recursive: true, force: true }));
export const weighed = { TEST_WEIGHTS: weights };
export const weightFile = (pid: number): string => join(weights, String(pid));

/** Arguments for Node that run a program of this repository with weigh-program.ts loaded. */
export const weighable = (args: readonly string[]): string[] => [
  '--import',
  join(import.meta.dirname, 'weigh-program.ts'),
  ...args,
];

/** Runs a program of this repository on this Node. */
export const startProcess = (t: TestContext, args: readonly string[], env: Record<string, string> = {}): ProcessOf =>
  startProgram(t, process.execPath, weighable(args), env);

export function startProgram(
  t: TestContext,
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): ProcessOf {
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, ...weighed, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  const onMore = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      for (const more of onMore) more();
    });
  }
  const exited = once(child, 'exit');
  const end = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  t.after(() => end('SIGKILL'));
  const seen = (words: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no ${words} within ${startTimeoutMs} ms in:\n${printed}`)),
        startTimeoutMs,
      );
      const look = (): void => {
        const match = words.exec(printed);
        if (match === null) return;
        clearTimeout(timer);
        onMore.delete(look);
        resolve(match);
      };
      onMore.add(look);
      look();
    });
  return {
    pid: child.pid ?? -1,
    child,
    text: () => printed,
    seen,
    listening: (port, host = '127.0.0.1') => listening(port, host, () => printed),
    end,
  };
}

async function listening(port: number, host: string, printed: () => string): Promise<void> {
  const deadline = performance.now() + startTimeoutMs;
  while (!(await accepts(port, host))) {
    if (performance.now() > deadline) throw new Error(`nothing listens on ${port}:\n${printed()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const accepts = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, host, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });

export interface StartedServer {
  readonly server: ProcessOf;
  readonly home: string;
  readonly env: Record<string, string>;
  readonly ports: { readonly control: number; readonly https: number; readonly http: number };
  /** The tunnel that the first start creates. */
  readonly tunnel: { readonly url: string; readonly tokenFile: string; readonly publicUrl: string };
  readonly caPem: string;
}

/** A folder that is removed when the test ends. */
export async function temporaryHome(t: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'underpass-process-'));
  t.after(() => rm(home, { recursive: true, force: true, maxRetries: 3 }));
  return home;
}

/** `npm start` without npm; `more` adds settings to home and ports. */
export async function startServerProcess(t: TestContext, more: Record<string, string> = {}): Promise<StartedServer> {
  const home = more.UNDERPASS_HOME ?? (await temporaryHome(t));
  const [control = 0, https = 0, http = 0] = await freePorts(3);
  const env = {
    UNDERPASS_HOME: home,
    UNDERPASS_PORT: String(control),
    UNDERPASS_EDGE_HTTPS_PORT: String(https),
    UNDERPASS_EDGE_HTTP_PORT: String(http),
    ...more,
  };
  const server = startProcess(t, serverArguments, env);
  const [, url = '', tokenFile = ''] = await server.seen(/underpass http --url '([^']+)' --token-file (\S+)/);
  const [, publicUrl = ''] = await server.seen(/curl --cacert \S+ (\S+)/);
  const caPem = await readFile(join(home, 'ca.pem'), 'utf8');
  return { server, home, env, ports: { control, https, http }, tunnel: { url, tokenFile, publicUrl }, caPem };
}

/** Starts the server again on the same home and ports, after it ended. */
export async function restartServerProcess(t: TestContext, { env }: StartedServer): Promise<ProcessOf> {
  const server = startProcess(t, serverArguments, env);
  await server.seen(/localhost:\d+/);
  return server;
}

/** Starts `underpass http` and waits until it is connected. */
export async function startClientProcess(
  t: TestContext,
  { tunnel }: StartedServer,
  upstream: string,
  start = startProcess,
): Promise<ProcessOf> {
  const flags = ['--url', tunnel.url, '--token-file', tunnel.tokenFile, '--upstream', upstream];
  const client = start(t, ['client/main.ts', 'http', ...flags]);
  await client.seen(/ connected /);
  return client;
}

/** Resets the peak of the resident size to the current size (proc(5), clear_refs). */
export const resetPeak = (pid: number): Promise<void> => writeFile(`/proc/${pid}/clear_refs`, '5');

export async function peakBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024;
}
