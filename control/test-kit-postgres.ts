// Starts a throw-away Postgres cluster for tests from the system's binaries, with its socket in its own folder.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { requireTool } from '../tests/helpers/tool.ts';

export interface TestPostgres {
  /** A new empty database. */
  createDatabase(): Promise<string>;
  /** Sends SIGKILL to the server and all of its processes. */
  kill(): Promise<void>;
  /** Starts the same cluster again after kill(). */
  start(): Promise<void>;
  /** Sends SIGSTOP or SIGCONT to the server and all of its processes. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  close(): Promise<void>;
}

// Postgres refuses to run as root, so root runs it as the user `postgres`.
function runAs(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

function initCluster(bin: string, home: string, user: { uid?: number; gid?: number }): void {
  if (user.uid !== undefined && user.gid !== undefined) chownSync(home, user.uid, user.gid);
  const flags = ['-D', join(home, 'data'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--no-instructions'];
  execFileSync(join(bin, 'initdb'), flags, { ...user, cwd: home, stdio: ['ignore', 'ignore', 'inherit'] });
}

const urlOf = (home: string, database: string): string =>
  `postgresql:///${database}?host=${encodeURIComponent(home)}&user=postgres`;

async function runSql(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Finds the server's processes by their parent, because Postgres gives each a session of its own. */
const childrenOf = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent);

function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended.
  }
}

/** Starts Postgres without fsync, which halves the time of a suite. Measurements need fsync. */
export async function startPostgres({ fsync = false } = {}): Promise<TestPostgres> {
  const bin = dirname(requireTool('postgres'));
  const home = mkdtempSync(join(tmpdir(), 'underpass-postgres-'));
  const user = runAs();
  initCluster(bin, home, user);
  const flags = ['-D', join(home, 'data'), '-k', home, '-c', 'listen_addresses=', '-c', `fsync=${fsync ? 'on' : 'off'}`];
  let server: ChildProcess;
  const spawnServer = (): void => {
    server = spawn(join(bin, 'postgres'), flags, { ...user, cwd: home, stdio: 'ignore' });
  };
  // Waits for an answer, because the socket appears before Postgres accepts connections. Tries again, because a server does
  // not start while a process of a killed one is still alive.
  const start = async (): Promise<void> => {
    spawnServer();
    for (let tries = 0; ; tries++) {
      try {
        return await runSql(urlOf(home, 'postgres'), 'select 1');
      } catch (error) {
        if (tries === 1_000) throw error;
        await delay(50);
        if (hasEnded(server)) spawnServer();
      }
    }
  };
  await start();
  let count = 0;
  const end = async (signal: () => void): Promise<void> => {
    if (hasEnded(server)) return;
    const ended = once(server, 'exit');
    signal();
    await ended;
  };
  const signalAll = (signal: NodeJS.Signals): void => {
    const { pid } = server;
    // Without one, the numbers below would name every process of the machine.
    if (pid === undefined) return;
    for (const each of [pid, ...childrenOf(pid)]) signalIfThere(each, signal);
  };
  return {
    createDatabase: async () => {
      const name = `test_${++count}`;
      await runSql(urlOf(home, 'postgres'), `create database ${name}`);
      return urlOf(home, name);
    },
    kill: () => end(() => signalAll('SIGKILL')),
    start,
    signal: signalAll,
    close: async () => {
      await end(() => server.kill('SIGINT'));
      rmSync(home, { recursive: true, force: true });
    },
  };
}
