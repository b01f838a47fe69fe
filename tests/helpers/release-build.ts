// Builds the command as deploy/release does for a release.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '../..');
/** The name of this machine in a release. */
export const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
export const { version } = JSON.parse(readFileSync(join(root, 'client/package.json'), 'utf8')) as { version: string };

const onlyProgram = ['--only', platform, '--programs-only'];

/** Returns the path of this machine's program. */
export function buildRelease(out: string, env: NodeJS.ProcessEnv, args: readonly string[] = onlyProgram): string {
  const command = [join(root, 'deploy/release/build.ts'), '--out', out, ...args];
  const build = spawnSync(process.execPath, command, { env, encoding: 'utf8' });
  assert.equal(build.status, 0, build.stderr);
  return join(out, version, `underpass-${version}-${platform}`);
}
