// A folder of releases with the layout of the release build; short texts stand in for the programs.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export const releasePlatforms = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64', 'win-x64'];

export const releaseFile = (version: string, platform: string): string =>
  `underpass-${version}-${platform}${platform === 'win-x64' ? '.exe' : ''}`;

export const releaseContent = (version: string, platform: string): string => `the program ${version} for ${platform}\n`;

/** Makes a folder for UNDERPASS_RELEASES with two versions: a fresh clone has no releases. */
export async function makeReleases(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-releases-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const version of ['0.9.0', '0.10.0']) {
    await mkdir(join(folder, version));
    for (const platform of releasePlatforms)
      await writeFile(join(folder, version, releaseFile(version, platform)), releaseContent(version, platform));
  }
  return folder;
}
