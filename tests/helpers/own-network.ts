// Runs a program again in namespaces of its own, where nobody else's addresses and processes exist. Whatever ends the program
// ends all that it started, and with the last process the kernel removes the namespaces. Needs root.
import { spawnSync } from 'node:child_process';
import { findTool } from '../../tools/system-tools.mjs';

const mark = 'OWN_NETWORK';
const needs = ['ip', 'unshare', 'setpriv', 'mount'];

/** The folder of temporary files: keys and configurations. */
const temporary = '/run/underpass-own';
/** Private mounts keep the names of network namespaces, their hosts files and temporary files from other programs. */
const privateFolders = ['/run/netns', '/etc/netns', temporary];
const script = `${privateFolders.map((path) => `mkdir -p ${path} && mount -t tmpfs none ${path} && `).join('')}ip link set lo up && exec "$@"`;

/** Returns false if the process is there already. */
export function movedToOwnNetwork(): boolean {
  if (process.env[mark]) return false;
  const missing = needs.filter((name) => findTool(name) === undefined);
  if (missing.length > 0) throw new Error(`no network of its own: ${missing.join(', ')} not on PATH`);
  if (process.getuid?.() !== 0) throw new Error('no network of its own: only root may make one');
  const isolated = ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const again = ['sh', '-c', script, 'sh', process.execPath, ...process.argv.slice(1)];
  const env = { ...process.env, [mark]: '1', TMPDIR: temporary };
  process.exitCode = spawnSync('setpriv', ['--pdeathsig', 'KILL', ...isolated, ...again], { stdio: 'inherit', env }).status ?? 1;
  return true;
}
