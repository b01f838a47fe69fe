// A second machine for a client: a network namespace behind a simulated wire with delay, loss or silence. Needs root.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { TestContext } from 'node:test';
import { type ProcessOf, startProgram, weighable } from './process.ts';
import { requireTool, skipWithout, skipWithoutRoot } from './tool.ts';

export interface WireState {
  /** The delay of each direction. */
  readonly delayMs?: number;
  readonly lossPercent?: number;
  /** The rate of each direction; no limit if absent. A packet that would wait longer than `queueMs` for its turn is dropped. */
  readonly rate?: { readonly megabits: number; readonly queueMs: number };
  /** Drops packets silently: those that leave this side (`out`), those that come back (`back`), or both. */
  readonly drop?: 'both' | 'out' | 'back';
}

export interface FarMachine {
  /** Address of this machine on the wire. */
  readonly nearAddress: string;
  readonly farAddress: string;
  /** The command that runs this program on the far machine. */
  command(program: string, args: readonly string[]): [program: string, args: string[]];
  /** Does what startProcess does, but on the far machine. */
  start(t: TestContext, args: readonly string[], env?: Record<string, string>): ProcessOf;
  /** Sets the wire's state; fields left out return to a perfect wire. */
  spoil(state: WireState): Promise<void>;
}

/** The `skip` of node:test: false if this process can create such a machine. */
export const skipWithoutFarMachine = (): string | false =>
  skipWithout('ip', 'python3') ||
  skipWithoutRoot('a network of its own') ||
  (existsSync('/dev/net/tun') ? false : 'the system has no /dev/net/tun');

/** Names and networks contain the process id, so that parallel test files do not collide. RFC 2544 reserves 198.18.0.0/15 for tests. */
let machines = 0;
const networks = 2 ** 17 / 4;

/** A network of four addresses; each process has eight networks in a row. They repeat only for process ids that differ by 4,096. */
function networkOf(index: number): { near: string; far: string } {
  const first = ((process.pid * 8 + index) % networks) * 4;
  const address = (last: number): string => `198.${18 + (first >> 16)}.${(first >> 8) & 255}.${(first & 255) + last}`;
  return { near: address(1), far: address(2) };
}

export async function startFarMachine(t: TestContext, hosts: readonly string[]): Promise<FarMachine> {
  const index = machines++;
  const name = `up${process.pid}x${index}`;
  const network = networkOf(index);
  const near = ownAddress() ?? network.near;
  const etc = join('/etc/netns', name);
  t.after(() => {
    rmSync(etc, { recursive: true, force: true });
    execFileSync(requireTool('ip'), ['netns', 'delete', name]);
  });
  execFileSync(requireTool('ip'), ['netns', 'add', name]);
  // `ip netns exec` mounts this file over /etc/hosts.
  mkdirSync(etc, { recursive: true });
  writeFileSync(join(etc, 'hosts'), `127.0.0.1 localhost\n${hosts.map((host) => `${near} ${host}\n`).join('')}`);
  const { child, lines } = await startWire(t, name);
  for (const args of addressing(name, near, network.far)) execFileSync(requireTool('ip'), args);
  const command: FarMachine['command'] = (program, args) => [requireTool('ip'), ['netns', 'exec', name, program, ...args]];
  return {
    nearAddress: near,
    farAddress: network.far,
    command,
    start: (user, args, env) => startProgram(user, ...command(process.execPath, weighable(args)), env),
    spoil: async ({ delayMs = 0, lossPercent = 0, drop, rate = { megabits: 0, queueMs: 0 } }) => {
      const [out, back] = [drop === 'both' || drop === 'out', drop === 'both' || drop === 'back'];
      const done = once(lines, 'line');
      child.stdin?.write(`${delayMs} ${lossPercent} ${Number(out)} ${Number(back)} ${rate.megabits} ${rate.queueMs}\n`);
      await done;
    },
  };
}

async function startWire(t: TestContext, name: string): Promise<{ child: ChildProcess; lines: Interface }> {
  const program = join(import.meta.dirname, 'bad-wire.py');
  const child = spawn(requireTool('python3'), [program, name, name], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(async () => {
    if (child.exitCode !== null) return;
    child.stdin.end();
    await once(child, 'exit');
  });
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');
  return { child, lines };
}

/**
 * An address that this machine already has, for the near end of the wire. Adding an address would break browser tests that run
 * at the same time: Chromium then fails requests that wait for a connection (ERR_NETWORK_CHANGED).
 */
const ownAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

const addressing = (name: string, near: string, far: string): string[][] => [
  ...(near === ownAddress() ? [] : [['address', 'add', near, 'dev', name]]),
  ['link', 'set', name, 'up'],
  ['route', 'add', far, 'dev', name, 'src', near],
  ['-n', name, 'link', 'set', 'lo', 'up'],
  ['-n', name, 'address', 'add', far, 'dev', name],
  ['-n', name, 'link', 'set', name, 'up'],
  ['-n', name, 'route', 'add', near, 'dev', name],
];
