// What the benchmark does in a network of its own: it chooses the system's congestion control.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { FarMachine } from '@underpass/tests/helpers/network.ts';

const folder = '/proc/sys/net/ipv4';

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
