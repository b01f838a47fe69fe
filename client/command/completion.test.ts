import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { skipWithout } from '../../tests/helpers/tool.ts';
import { accountRoutes, binary, createCli, startFakeApi } from '../test-kit.ts';

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

describe('names of the account', () => {
  const names = {
    'GET /api/tunnels': { body: [{ name: 'shop' }, { name: 'wiki', token: 'tunnel-secret' }] },
    'GET /api/regions': { body: [{ name: 'eu1' }] },
  };

  async function signedIn(t: TestContext, routes = {}) {
    const api = await startFakeApi(t, { ...accountRoutes, ...names, ...routes });
    const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'api-secret' });
    const at = async (...words: string[]) => (await cli.run(['complete', '--', ...words])).stdout.split(/\t\n/).slice(0, -1);
    return { api, cli, at };
  }

  test('are completed if a command takes them', async (t) => {
    const { at } = await signedIn(t);
    for (const command of [
      ['connect'],
      ['doctor'],
      ['tunnels', 'show'],
      ['tunnels', 'rm'],
      ['token', 'show'],
      ['service', 'install'],
    ])
      assert.deepEqual(await at(...command, ''), ['shop', 'wiki'], command.join(' '));
    assert.deepEqual(await at('connect', 'w'), ['wiki']);
    assert.deepEqual(await at('tunnels', 'add', 'new', '--region', ''), ['eu1']);
    assert.deepEqual(await at('whoami', '--project', ''), ['Acme']);
    assert.deepEqual(await at('tunnels', 'add', ''), []);
  });

  test('are fetched at most once in a while, and stored without a secret', async (t) => {
    const { api, cli, at } = await signedIn(t);
    for (let tab = 0; tab < 3; tab++) assert.deepEqual(await at('connect', ''), ['shop', 'wiki']);
    assert.equal(api.calls.filter(({ path }) => path.startsWith('/api/tunnels')).length, 1);
    const folder = join(cli.home, '.cache/underpass');
    const kept = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
    assert.equal(kept.length, 1);
    assert.doesNotMatch(kept.join(), /secret/);
  });

  test('are those of the project and the server that the words name', async (t) => {
    const other = await startFakeApi(t, {
      'GET /api/projects': { body: [{ id: 'p9', name: 'Beta' }] },
      'GET /api/tunnels': { body: [{ name: 'theirs' }] },
    });
    const { at } = await signedIn(t);
    assert.deepEqual(await at('connect', '--server', other.origin, ''), ['theirs']);
    assert.deepEqual(await at('connect', '--project', 'None', ''), []);
  });

  test('are left out within a second if the server does not answer', { skip: binary && 'needs a fake network' }, async (t) => {
    const { cli, api } = await signedIn(t);
    let asked = 0;
    const fetch: typeof globalThis.fetch = (_input, init) =>
      new Promise((_resolve, reject) => {
        asked++;
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      });
    const beganMs = performance.now();
    for (let tab = 0; tab < 2; tab++) {
      const { stdout, code } = await cli.run(['complete', '--', 'connect', 'x'], { io: { fetch } });
      assert.deepEqual([stdout, code], ['', 0]);
    }
    assert.equal(asked, 1, 'the second Tab does not wait again');
    // A second, and what a busy machine adds.
    assert.ok(performance.now() - beganMs < 5_000);
    assert.equal(api.calls.length, 0);
  });

  test('are left out if they control the terminal, span lines or look like an option', async (t) => {
    const hostile = ['eu\u001b]0;owned\u0007', 'two\nlines', 'two\tcolumns', '--server=http://evil.example'];
    const { at } = await signedIn(t, { 'GET /api/regions': { body: [...hostile, 'eu1'].map((name) => ({ name })) } });
    assert.deepEqual(await at('tunnels', 'add', 'x', '--region', ''), ['eu1']);
  });

  test('are quoted for bash, which would run them', async (t) => {
    const projects = [{ id: 'p1', name: '$(touch owned) `id`; x' }];
    const { api } = await signedIn(t, { 'GET /api/projects': { body: projects } });
    const { env, home } = await installed(t);
    const script = `source <(underpass completion bash)
COMP_WORDS=(underpass whoami --project ''); COMP_CWORD=3; _underpass; eval "printf '%s' \${COMPREPLY[0]}"; ls`;
    const settings = { env: { ...env, UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' }, cwd: home };
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], settings);
    assert.equal(stdout, `${projects[0]?.name}bin\n`);
  });
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
