// Starts the successor of this server and hands over to it. Until the successor has everything, any failure leaves this server as
// it was. The successor's view: serve/elder.ts.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { takeSpareTime } from '@underpass/runtime/spare-time.ts';
import type { Logger } from 'pino';
import { ServerError } from '../process/error.ts';
import type { ToElder, ToSuccessor } from '../serve/elder.ts';
import type { Running } from '../serve/start.ts';

export interface Successor {
  readonly pid: number;
  /** The exit code. */
  readonly ended: Promise<number>;
  signal(name: NodeJS.Signals): void;
  tell(type: 'followed' | 'quiet' | 'left'): void;
}

interface SuccessorOptions {
  readonly running: Pick<Running, 'bequeath' | 'hold' | 'lock'>;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Program and arguments; a test replaces them. */
  readonly command?: readonly [program: string, ...args: string[]];
}

/** A start may check the database for 20 s and migrate it. */
const startMs = 150_000;

/** The program on disk, started as this one was: a new release lies at the same path. */
const ownCommand = (): readonly [string, ...string[]] => [
  process.execPath,
  ...process.execArgv,
  process.argv[1] ?? '',
  'start',
  '--successor',
];

/** Resolves once the successor accepts connections and holds the home folder. */
export async function startSuccessor(options: SuccessorOptions): Promise<Successor> {
  const { running, env, log, command: [program, ...args] = ownCommand() } = options;
  const { sockets: all, siblingPaths } = await running.bequeath();
  // The port of a tcp tunnel may have closed since it was listed.
  const sockets = all.filter(({ handle }) => handle.fd >= 0);
  const child = spawn(program, args, {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...sockets.map(({ handle }) => handle.fd)],
  });
  // Visitors need the processor more than a process that only starts.
  const endSpareTime = takeSpareTime(child.pid);
  const ended = once(child, 'exit').then(([code]) => (code as number | null) ?? 1);
  ended.catch(() => {});
  tell(child, { type: 'inherit', sockets: sockets.map(({ name }) => name), siblingPaths });
  try {
    await handOver(child, options, endSpareTime);
  } catch (error) {
    log.warn({ successor: child.pid, err: error }, 'upgrade: failed; this server goes on');
    child.kill('SIGKILL');
    // The home folder's lock is free once it has ended.
    if (child.pid !== undefined) await ended;
    await running.hold(false);
    await running.lock(true);
    throw error;
  }
  child.channel?.unref();
  return {
    pid: child.pid ?? 0,
    ended,
    signal: (name) => void child.kill(name),
    tell: (type) => tell(child, { type }),
  };
}

function tell(child: ChildProcess, message: ToSuccessor): void {
  if (child.connected) child.send(message, () => {});
}

function handOver(child: ChildProcess, { running, signal }: SuccessorOptions, endSpareTime: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => settle(() => reject(new ServerError('upgrade-failed', why)));
    const timer = setTimeout(() => fail(`the new process was not ready within ${startMs / 1_000} s`), startMs);
    const onAbort = (): void => fail('the server was stopped');
    const onExit = (code: number | null, by: string | null): void => fail(`the new process ended (${by ?? `exit code ${code}`})`);
    const settle = (how: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      child.off('exit', onExit);
      how();
    };
    const answer = async (message: ToElder): Promise<void> => {
      endSpareTime();
      if (message.type === 'failed') fail(message.reason);
      else if (message.type === 'locked') settle(resolve);
      else if (message.type === 'hold-edge') {
        await running.hold(true);
        tell(child, { type: 'edge-held' });
      } else {
        await running.lock(false);
        tell(child, { type: 'yours' });
      }
    };
    signal.addEventListener('abort', onAbort);
    child.on('exit', onExit);
    child.on('error', (error) => fail(error.message));
    child.on('message', (message) => void answer(message as ToElder).catch((error: Error) => fail(error.message)));
  });
}
