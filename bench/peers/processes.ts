// Starts the processes of a peer, waits until they listen, and reads their CPU time and memory.
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';

/** Linux counts CPU time in hundredths of a second (USER_HZ). */
const tickSeconds = 0.01;

export interface Started {
  readonly pid: number;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

export function start(command: string, args: readonly string[], env: Record<string, string> = {}): Started {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  // Discard the output unless the caller adds a listener in the same turn: a full pipe would block a peer that logs.
  child.stdout.resume();
  const errors: string[] = [];
  child.stderr.on('data', (data: Buffer) => errors.push(data.toString()) > 50 && errors.shift());
  child.on('exit', (code) => {
    if (code !== null && code !== 0 && process.env.BENCH_VERBOSE)
      process.stderr.write(`${command}: exit ${code}\n${errors.join('')}\n`);
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const one: Started = { pid: child.pid ?? -1, child, stop: () => endWithin(child, gone) };
  alive.add(one);
  void gone.then(() => alive.delete(one));
  return one;
}

const alive = new Set<Started>();

/** Stops all processes, those of a peer that failed to start included. */
export async function stopAll(): Promise<void> {
  await Promise.all([...alive].map((one) => one.stop()));
}

async function endWithin(child: ChildProcess, gone: Promise<void>): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await gone;
  clearTimeout(timer);
}

/** The next line of JSON that the process prints. */
export function firstJson<T>(started: Started, timeoutMs = 20_000): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no line of JSON within ${timeoutMs} ms`)), timeoutMs);
    let text = '';
    const onExit = (code: number | null) => reject(new Error(`ended with ${code} before its first line`));
    const onData = (data: Buffer) => {
      text += data.toString();
      const line = text.split('\n').find((part) => part.startsWith('{') && part.endsWith('}'));
      if (line === undefined) return;
      clearTimeout(timer);
      started.child.off('exit', onExit);
      started.child.stdout?.off('data', onData);
      resolve(JSON.parse(line) as T);
    };
    started.child.once('exit', onExit);
    started.child.stdout?.on('data', onData);
  });
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

export async function untilListening(port: number, address = '127.0.0.1'): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!(await accepts(port, address))) {
    if (Date.now() > deadline) throw new Error(`nothing listens on ${address}:${port}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function accepts(port: number, address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, address, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** CPU seconds of these processes and their descendants. */
export function cpuSeconds(pids: readonly number[]): number {
  return withChildren(pids).reduce((sum, pid) => sum + ticksOf(pid), 0) * tickSeconds;
}

export function residentBytes(pids: readonly number[]): number {
  return withChildren(pids).reduce((sum, pid) => sum + residentOf(pid), 0);
}

function withChildren(pids: readonly number[]): number[] {
  const parents = new Map(
    readdirSync('/proc')
      .filter(isNumber)
      .map((pid) => [Number(pid), parentOf(Number(pid))]),
  );
  const isOurs = (pid: number | undefined): boolean => pid !== undefined && (pids.includes(pid) || isOurs(parents.get(pid)));
  return [...parents.keys()].filter(isOurs);
}

const isNumber = (name: string): boolean => /^\d+$/.test(name);

/** The fields of /proc/<pid>/stat after the command's closing parenthesis; field 3 of the manual is the first here. */
function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

const parentOf = (pid: number): number | undefined => (pid > 1 ? Number(statOf(pid)[1] ?? 0) || undefined : undefined);

function ticksOf(pid: number): number {
  const fields = statOf(pid);
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

function residentOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
