// The version of this release, and the exact build: two builds of one version have different commits.

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import manifest from '../package.json' with { type: 'json' };

export const version: string = manifest.version;

const root = join(import.meta.dirname, '../..');

function read(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
}

/** The commit of a clone, read without git: the user of the service does not own the clone, and git then refuses. */
export function readCommit(folder: string): string {
  const own = join(folder, '.git');
  if (!existsSync(own)) return '';
  try {
    const link = /^gitdir: (.+)$/.exec(existsSync(join(own, 'HEAD')) ? '' : read(own))?.[1];
    const git = link === undefined ? own : resolve(folder, link);
    const shared = resolve(git, read(join(git, 'commondir')) || '.');
    const head = read(join(git, 'HEAD'));
    const ref = /^ref: (refs\/.+)$/.exec(head)?.[1];
    if (ref === undefined) return head;
    const packed = read(join(shared, 'packed-refs')).split('\n');
    return read(join(shared, ref)) || (packed.find((line) => line.endsWith(` ${ref}`))?.split(' ')[0] ?? '');
  } catch {
    // A clone that this user may not read is no reason not to start.
    return '';
  }
}

/** The file is made with the image, which has no clone. */
const commit = read(join(root, 'commit')) || readCommit(root);

/** `0.1.0+5f3d77cb0123`; the version alone if the commit is unknown, as in an unpacked archive of the source. */
export const build = /^[0-9a-f]{12,64}$/.test(commit) ? `${version}+${commit.slice(0, 12)}` : version;
export const software = `underpass/${build}`;
