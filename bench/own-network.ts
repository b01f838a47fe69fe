// Runs the benchmark again in namespaces of its own, where it may choose the system's congestion control and nobody else's
// addresses exist. Whatever ends the benchmark ends all that it started, and with the last process the kernel removes the
// namespaces. Needs root.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { FarMachine } from '@underpass/tests/helpers/network.ts';
import { onPath } from './peers/peer.ts';

const mark = 'BENCH_OWN_NETWORK';
const folder = '/proc/sys/net/ipv4';
const needs = ['ip', 'unshare', 'setpriv', 'mount'];

/** The folder of temporary files: keys and configurations of peers. */
const temporary = '/run/underpass-bench';
/** Private mounts keep the names of network namespaces, their hosts files and temporary files from other programs. */
const privateFolders = ['/run/netns', '/etc/netns', temporary];
const script = `${privateFolders.map((path) => `mkdir -p ${path} && mount -t tmpfs none ${path} && `).join('')}ip link set lo up && exec "$@"`;

/** Returns false if the process is there already. */
export function movedToOwnNetwork(): boolean {
  if (process.env[mark]) return false;
  const missing = needs.filter((name) => onPath(name) === undefined);
  if (missing.length > 0) throw new Error(`no network of its own: ${missing.join(', ')} not on PATH`);
  if (process.getuid?.() !== 0) throw new Error('no network of its own: only root may make one');
  const isolated = ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const again = ['sh', '-c', script, 'sh', process.execPath, ...process.argv.slice(1)];
  const env = { ...process.env, [mark]: '1', TMPDIR: temporary };
  process.exitCode = spawnSync('setpriv', ['--pdeathsig', 'KILL', ...isolated, ...again], { stdio: 'inherit', env }).status ?? 1;
  return true;
}

const read = (name: string): string => readFileSync(`${folder}/${name}`, 'utf8').trim();

export const congestionInUse = (): string => read('tcp_congestion_control');

/** The controls that a namespace may choose as its system's. */
export const allowedCongestion = (): readonly string[] => read('tcp_allowed_congestion_control').split(' ');

/** Throws what to do about those that the system keeps from namespaces. */
export function requireCongestion(names: readonly string[]): void {
  const allowed = allowedCongestion();
  const missing = names.filter((name) => !allowed.includes(name));
  if (missing.length === 0) return;
  const wider = [...allowed, ...missing].join(' ');
  throw new Error(
    `--congestion: the system keeps ${missing.join(', ')} from namespaces; first run\n  sysctl -w net.ipv4.tcp_allowed_congestion_control='${wider}'`,
  );
}

/** Chooses the control of new connections of this network and of the far machine's. */
export function useCongestion(name: string, far?: FarMachine): void {
  // The system's memory of earlier connections must not help later ones.
  const setting = ['-c', `cd ${folder} && echo 1 > tcp_no_metrics_save && echo "$0" > tcp_congestion_control`, name];
  execFileSync('sh', setting);
  if (far !== undefined) execFileSync(...far.command('sh', setting));
}
