// Thousands of clients of one edge, in separate processes (herd-program.ts).
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

interface Target {
  readonly port: number;
  /** Host of the region. */
  readonly host: string;
  readonly caPem: string;
  /** Given to the clients in turn. */
  readonly tokens: readonly string[];
  /** The clients accept visitors' WebSockets, and send back what arrives. */
  readonly answers?: boolean;
}

export interface HerdPart extends Target {
  readonly from: number;
  readonly to: number;
}

export interface HerdStatus {
  /** How many clients are connected. */
  readonly held: number;
  /** The pauses that clients chose after a failed attempt, since the last status. */
  readonly waitsMs: readonly number[];
  /** How often clients have dialled since the start. */
  readonly dials: number;
}

export interface Herd {
  readonly pids: readonly number[];
  status(): Promise<HerdStatus>;
  /** Kills all processes with SIGKILL. */
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
    pids: children.map(({ pid = 0 }) => pid),
    kill,
    status: async () => {
      const all = await Promise.all(children.map(ask));
      const sum = (key: 'held' | 'dials'): number => all.reduce((before, status) => before + status[key], 0);
      return { held: sum('held'), dials: sum('dials'), waitsMs: all.flatMap(({ waitsMs }) => waitsMs) };
    },
  };
}

async function ask(child: ChildProcess): Promise<HerdStatus> {
  const answered = once(child, 'message');
  child.send('status');
  return (await answered)[0] as HerdStatus;
}

async function killOne(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
