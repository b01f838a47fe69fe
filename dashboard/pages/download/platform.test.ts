// The commands and names of the download page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatSize } from '@underpass/rules/text/size.ts';
import { fileOf, guessSystem, inOrder, platformLabel, systems } from './platform.ts';

const releaseFile = (platform: string) => ({ name: `underpass-${platform}`, platform, size: 1, sha256: '', url: '' });
const built = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64', 'win-x64'];

test('every platform that we build belongs to exactly one system and has a label', () => {
  for (const platform of built) {
    assert.equal(systems.filter((system) => system.isOf(platform)).length, 1, platform);
    assert.notEqual(platformLabel(platform), platform);
  }
});

test('a platform without a label shows its own name', () => {
  assert.equal(platformLabel('freebsd-x64'), 'freebsd-x64');
});

test('the most common platforms come first, in any order of the release', () => {
  const files = inOrder([...built, 'freebsd-x64'].sort().map(releaseFile));
  assert.deepEqual(
    files.map(({ platform }) => platform),
    [...built, 'freebsd-x64'],
  );
});

test('each system gets the file that most of its users need', () => {
  const files = built.toSorted().map(releaseFile);
  const wanted = systems.map((system) => fileOf(system, files)?.platform);
  assert.deepEqual(
    wanted,
    ['linux-x64', 'darwin-arm64', 'win-x64'],
    'and darwin is not taken for Windows because it ends in win',
  );
});

test('a system without a file has none', () => {
  assert.equal(fileOf(systems[0]!, [releaseFile('win-x64')]), undefined);
});

test('downloads the installer from the deployment, then the CLI with it', () => {
  for (const system of systems) {
    const { getInstaller, fetchCli } = system.steps('https://underpass.example');
    assert.match(getInstaller, /https:\/\/underpass\.example\/install\.(sh|ps1)/);
    assert.match(fetchCli, /install\.(sh|ps1)$/);
  }
});

const agents: readonly (readonly [string, string])[] = [
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64)', 'windows'],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)', 'macos'],
  ['Mozilla/5.0 (X11; Linux x86_64)', 'linux'],
  ['', 'linux'],
];

for (const [userAgent, name] of agents) {
  test(`'${userAgent}' opens the steps of ${name}`, () => assert.equal(guessSystem(userAgent), name));
}

test('sizes are in megabytes with one decimal', () => {
  assert.equal(formatSize(97_450_000), '97.5 MB');
});
