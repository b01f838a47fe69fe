import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { skipWithout } from '../../tests/helpers/tool.ts';
import { binary, createCli } from '../test-kit.ts';

async function complete(t: TestContext, ...words: string[]): Promise<string[]> {
  const { stdout, code } = await (await createCli(t)).run(['complete', '--', ...words]);
  assert.equal(code, 0);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
}

test('completes commands, except hidden ones', async (t) => {
  assert.deepEqual(await complete(t, 'tun'), ['tunnels']);
  assert.deepEqual(await complete(t, 'compl'), ['completion']);
  assert.deepEqual(await complete(t, 'tunnels', 'up'), ['update']);
  assert.deepEqual(await complete(t, 'help', 'tunnels', 'up'), ['update']);
});

test('completes options, their choices and file names', async (t) => {
  assert.deepEqual(await complete(t, 'tunnels', 'add', 'x', '--proxy'), ['--proxy-protocol']);
  assert.deepEqual(await complete(t, 'tunnels', 'add', 'x', '--proxy-protocol', ''), ['off', 'v1', 'v2']);
  assert.deepEqual(await complete(t, 'completion', 'f'), ['fish']);
  assert.deepEqual(await complete(t, 'tunnels', 'rm', 'x', ''), ['--json', '--server', '--project', '--yes', '--help']);
});

test('gives nothing for a word that it cannot complete', async (t) => {
  assert.deepEqual(await complete(t, 'nonsense', 'x'), []);
  assert.deepEqual(await complete(t, 'tunnels', 'add', '--region', ''), []);
});

/** A folder that holds `underpass`, to put first on PATH. */
async function installed(t: TestContext) {
  const cli = await createCli(t);
  const folder = join(cli.home, 'bin');
  await mkdir(folder);
  const main = join(dirname(fileURLToPath(import.meta.url)), '../main.ts');
  const start = binary === undefined ? `'${process.execPath}' '${main}'` : `'${binary}'`;
  await writeFile(join(folder, 'underpass'), `#!/bin/sh\nexec ${start} "$@"\n`);
  await chmod(join(folder, 'underpass'), 0o755);
  return { home: cli.home, env: { PATH: `${folder}:${process.env.PATH}`, HOME: cli.home, TERM: 'dumb' } };
}

test('bash completes with the real script', async (t) => {
  const { env } = await installed(t);
  const script = `source <(underpass completion bash)
COMP_WORDS=(underpass tunnels up); COMP_CWORD=2; _underpass; printf '%s\\n' "\${COMPREPLY[@]}"
COMP_WORDS=(underpass dom); COMP_CWORD=1; _underpass; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], { env, encoding: 'utf8' });
  assert.equal(stdout, 'update\ndomains\n', stderr);
});

test('fish completes with the real script', { skip: skipWithout('fish') }, async (t) => {
  const { env } = await installed(t);
  const script = `underpass completion fish | source; complete -C 'underpass tunnels up'; complete -C 'underpass dom'`;
  const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', script], { env, encoding: 'utf8' });
  assert.match(stdout, /^update\tChange .*\ndomains\t.*\n$/, stderr);
});

test('zsh completes with the real script, in a terminal of its own', { skip: skipWithout('zsh') }, async (t) => {
  const { env, home } = await installed(t);
  await mkdir(join(home, 'functions'));
  const driver = `
zmodload zsh/zpty
zpty z 'PS1="READY> " HOME=${home} TERM=dumb zsh -f -i'
zpty -w z 'fpath=(${home}/functions $fpath); autoload -U compinit; compinit -u -D; echo LOA""DED'
zpty -r -m z line '*LOADED*'
zpty -n -w z $'underpass tunnels upd\\t'
zpty -r -m z line '*underpass tunnels update*' && print -r -- FOUND
zpty -d z`;
  const save = spawnSync('sh', ['-c', `underpass completion zsh > '${home}/functions/_underpass'`], { env, encoding: 'utf8' });
  assert.equal(save.status, 0, save.stderr);
  const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', driver], { env, encoding: 'utf8', timeout: 60_000 });
  assert.match(stdout, /FOUND/, stderr);
});
