// Thousands of clients of one edge, in processes of their own.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

interface Target {
  readonly port: number;
  /** The region's. */
  readonly host: string;
  readonly caPem: string;
  /** Shared out in turn. */
  readonly tokens: readonly string[];
}

export interface HerdPart extends Target {
  readonly from: number;
  readonly to: number;
}

export interface HerdStatus {
  readonly held: number;
  /** How long each client that found no edge since the last question chose to wait. */
  readonly waitsMs: readonly number[];
}

export interface Herd {
  how(): Promise<HerdStatus>;
  /** All at once, without a word. */
  kill(): Promise<void>;
}

const processes = 2;

export function startHerd(t: TestContext, target: Target, size: number): Herd {
  const children = Array.from({ length: processes }, (_, index) => {
    const child = fork(join(import.meta.dirname, 'herd-program.ts'));
    const part: HerdPart = { ...target, from: (size * index) / processes, to: (size * (index + 1)) / processes };
    child.send(part);
    return child;
  });
  const kill = async (): Promise<void> => void (await Promise.all(children.map(killOne)));
  t.after(kill);
  return {
    kill,
    how: async () => {
      const all = await Promise.all(children.map(ask));
      return { held: all.reduce((sum, { held }) => sum + held, 0), waitsMs: all.flatMap(({ waitsMs }) => waitsMs) };
    },
  };
}

async function ask(child: ChildProcess): Promise<HerdStatus> {
  const answered = once(child, 'message');
  child.send('how');
  return (await answered)[0] as HerdStatus;
}

async function killOne(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
