// How a test asks for a program of the system. In CI a missing one fails the test; elsewhere it skips with one line.
import { spawnSync } from 'node:child_process';
import { findTool, type systemTools, wayTo } from '../../tools/system-tools.mjs';

export type ToolName = keyof typeof systemTools;

/** For node:test's `skip`: false where the test can (or, in CI, must) run. */
export function skipWithout(...names: ToolName[]): string | false {
  const missing = names.filter((name) => findTool(name) === undefined);
  if (missing.length === 0 || process.env.CI) return false;
  return `needs ${missing.join(', ')}: ${missing.map(wayTo).join('; ')}`;
}

/** Full path of a tool; throws one line that says how to get it. */
export function requireTool(name: ToolName): string {
  const path = findTool(name);
  if (path === undefined) throw new Error(`${name} is not installed: ${wayTo(name)}`);
  return path;
}

/** For faults that only root can make: a mount, a network of its own. False where this process may make them. */
export function skipWithoutRoot(what: string): string | false {
  if (process.getuid?.() !== 0) return `needs root for ${what}`;
  const allowed = spawnSync('unshare', ['--mount', '--net', 'true'], { stdio: 'ignore' }).status === 0;
  return allowed ? false : `the system allows no ${what} here`;
}
