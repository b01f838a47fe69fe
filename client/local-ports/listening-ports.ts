// The TCP ports that programs of this machine listen on, with the program and its folder where this user may know them.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { readBounded } from '../process/bounded-file.ts';
import type { Io } from '../process/io.ts';
import { type ListeningSocket, listeningOf, parseLsof, parseNetstat, parseProcNet, parseTasklist } from './socket-tables.ts';

export interface ListeningPort {
  readonly port: number;
  /** `localhost`, or the one address that has the port. */
  readonly host: string;
  /** Empty if unknown, as for programs of other users. */
  readonly program: string;
  readonly folder: string;
}

interface Owner {
  readonly program: string;
  readonly folder: string;
}

type Found = ListeningSocket & Partial<Owner>;

/** The ports in their order. Empty if the system does not say. */
export async function findListening(io: Io): Promise<readonly ListeningPort[]> {
  const found = await finders[io.platform](io);
  const ports = new Map<number, ListeningPort>();
  for (const { address, port, program = '', folder = '' } of found) {
    const host = isLocalhost(address) ? 'localhost' : address;
    const before = ports.get(port);
    if (before === undefined || (before.host !== 'localhost' && host === 'localhost'))
      ports.set(port, { port, host, program, folder });
  }
  return [...ports.values()].sort((a, b) => a.port - b.port);
}

const isLocalhost = (address: string): boolean => ['*', '127.0.0.1', '::1'].includes(address);

const finders: Readonly<Record<Io['platform'], (io: Io) => Promise<readonly Found[]>>> = {
  linux: findOnLinux,
  darwin: findByLsof,
  win32: findByNetstat,
};

/** 100,000 sockets: the kernel lists those that listen first, but there is no way to ask for them only. */
const maxTableBytes = 16 * 1024 * 1024;

async function findOnLinux(): Promise<readonly Found[]> {
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readBounded(path, maxTableBytes).catch(() => '')),
  );
  const sockets = tables.flatMap(parseProcNet);
  const owners = ownersOf(new Set(sockets.map(({ inode }) => inode)));
  return sockets.map((socket) => ({ ...socket, ...owners.get(socket.inode) }));
}

/** Reading this many takes a quarter of a second, and a developer's machine has about 20,000. Ports found later show no program. */
const maxOpenFiles = 50_000;

function ownersOf(inodes: ReadonlySet<string>): ReadonlyMap<string, Owner> {
  const owners = new Map<string, Owner>();
  let left = maxOpenFiles;
  for (const pid of orElse(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name))) {
    for (const file of orElse(() => readdirSync(`/proc/${pid}/fd`), [])) {
      if (left-- === 0 || owners.size === inodes.size) return owners;
      const inode = /^socket:\[(\d+)\]$/.exec(orElse(() => readlinkSync(`/proc/${pid}/fd/${file}`), ''))?.[1] ?? '';
      if (inodes.has(inode)) owners.set(inode, ownerOf(pid));
    }
  }
  return owners;
}

function ownerOf(pid: string): Owner {
  const [first = '', second = ''] = orElse(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '').split('\0');
  return { program: programOf(first, second), folder: orElse(() => readlinkSync(`/proc/${pid}/cwd`), '') };
}

/** Some services write a title in place of their arguments: `nginx: master process …`. The command of npm is a script of Node. */
function programOf(first: string, second: string): string {
  const title = /^([\w.-]+): /.exec(first)?.[1];
  return title ?? (basename(second) === 'underpass' ? 'underpass' : basename(first));
}

/** A process may end while it is looked at, or belong to another user. */
function orElse<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

async function findByLsof({ execute }: Io): Promise<readonly Found[]> {
  const { stdout } = await execute('lsof', ['-nP', '-iTCP', '-sTCP:LISTEN', '-Fpcn']);
  const processes = parseLsof(stdout);
  const pids = processes.map(({ pid }) => pid).join(',');
  const folders = pids === '' ? '' : (await execute('lsof', ['-a', '-d', 'cwd', '-p', pids, '-Fpn'])).stdout;
  const folderOf = new Map(parseLsof(folders).map(({ pid, names: [folder = ''] }) => [pid, folder]));
  return processes.flatMap((process) =>
    listeningOf(process).map((socket) => ({ ...socket, program: process.command, folder: folderOf.get(process.pid) ?? '' })),
  );
}

async function findByNetstat({ execute }: Io): Promise<readonly Found[]> {
  const [sockets, tasks] = await Promise.all([execute('netstat', ['-ano']), execute('tasklist', ['/fo', 'csv', '/nh'])]);
  const programs = parseTasklist(tasks.stdout);
  return parseNetstat(sockets.stdout).map((socket) => ({ ...socket, program: programs.get(socket.pid) ?? '' }));
}
