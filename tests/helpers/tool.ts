// Finds system programs for tests. A missing program fails the test in CI; elsewhere the test skips and says what to install.
import { spawnSync } from 'node:child_process';
import { findTool, type systemTools, wayTo } from '../../tools/system-tools.mjs';

export type ToolName = keyof typeof systemTools;

/** The `skip` of node:test: false if the test can run, and always in CI, where a missing tool must fail. */
export function skipWithout(...names: ToolName[]): string | false {
  const missing = names.filter((name) => findTool(name) === undefined);
  if (missing.length === 0 || process.env.CI) return false;
  return `needs ${missing.join(', ')}: ${missing.map(wayTo).join('; ')}`;
}

/** Full path of a tool; if it is missing, throws an error that says how to install it. */
export function requireTool(name: ToolName): string {
  const path = findTool(name);
  if (path === undefined) throw new Error(`${name} is not installed: ${wayTo(name)}`);
  return path;
}

/** The `skip` of tests that need root, for example to mount a disk: false if this process may do it. */
export function skipWithoutRoot(what: string): string | false {
  if (process.getuid?.() !== 0) return `needs root for ${what}`;
  const allowed = spawnSync('unshare', ['--mount', '--net', 'true'], { stdio: 'ignore' }).status === 0;
  return allowed ? false : `the system allows no ${what} here`;
}
