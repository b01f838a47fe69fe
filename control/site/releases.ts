// The released CLI files: a folder with one subfolder for each version, read at each request.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Release, ReleaseFile } from '@underpass/rules/entity/resource.ts';
import { compareVersions } from '@underpass/rules/text/version.ts';

const versionPattern = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;
// Matches programs, not the checksums, signature and manifest beside them. The hyphen keeps `darwin` from matching `win`.
const platformPattern = /^underpass-(?:.*-)?((?:linux|darwin|win)-(?:x64|arm64))(?:\.exe)?$/;

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

// Keeps hashes: a release has 100 MB.
function createHashCache() {
  const known = new Map<string, { readonly stamp: string; readonly sha256: Promise<string> }>();
  return (path: string, stamp: string): Promise<string> => {
    const entry = known.get(path);
    if (entry?.stamp === stamp) return entry.sha256;
    const sha256 = hashFile(path);
    known.set(path, { stamp, sha256 });
    return sha256;
  };
}

/** A release that is built again is away for a moment. */
function unlessGone(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

export interface Releases {
  list(): Promise<readonly Release[]>;
}

export function createReleases(folder: string | undefined): Releases {
  const hashOf = createHashCache();
  const readRelease = async (root: string, version: string): Promise<Release> => {
    const files: ReleaseFile[] = [];
    for (const name of (await readdir(join(root, version))).sort()) {
      const path = join(root, version, name);
      const { size, mtimeMs, isFile } = await stat(path).then((found) => ({ ...found, isFile: found.isFile() }));
      const platform = platformPattern.exec(name)?.[1];
      if (!isFile || platform === undefined) continue;
      files.push({
        name,
        platform,
        size,
        sha256: await hashOf(path, `${size}:${mtimeMs}`),
        url: `/releases/${version}/${encodeURIComponent(name)}`,
      });
    }
    return { version, files };
  };
  return {
    list: async () => {
      if (folder === undefined) return [];
      const names = await readdir(folder).catch(() => []);
      const versions = names.filter((name) => versionPattern.test(name)).sort((a, b) => compareVersions(b, a));
      const releases = await Promise.all(versions.map((version) => readRelease(folder, version).catch(unlessGone)));
      return releases.filter((release) => release !== undefined);
    },
  };
}
