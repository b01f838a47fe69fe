import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createProcessIo } from '../process/process-io.ts';
import type { Output } from '../terminal/output.ts';
import { checkKey } from './known-keys.ts';

async function keysOf(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'underpass-keys-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const file = join(home, '.config/underpass/reach-keys.json');
  await mkdir(join(home, '.config/underpass'), { recursive: true });
  const notices: string[] = [];
  const output = { notice: (text: string) => void notices.push(text) } as Output;
  const io = createProcessIo({ HOME: home, XDG_CONFIG_HOME: join(home, '.config') });
  const check = (names: readonly string[], met: string) =>
    checkKey(io, output, { about: 'acme/database', names, pin: undefined }, met);
  return { file, notices, check };
}

const untrusted = { code: 'reach-untrusted' };

test('what control answers decides no key: the words of the user are known too', async (t) => {
  const { notices, check } = await keysOf(t);
  const typed = 'https://one.example acme/database';
  await check(['https://one.example p1/database', typed], 'a1');
  await check(['https://one.example p1/database', typed], 'a1');
  await assert.rejects(check(['https://one.example p2/database', typed], 'b2'), untrusted, 'another project by the same name');
  await assert.rejects(check(['https://one.example p1/database', 'https://one.example x/database'], 'b2'), untrusted, 'renamed');
  assert.equal(notices.length, 1);
  await check(['https://one.example p1/database', 'https://one.example x/database'], 'a1');
  assert.equal(notices.length, 1, 'a new name of a known tunnel with its known key is no first time');
  await check(['https://two.example p1/database', 'https://two.example acme/database'], 'c3');
});

test('of two first keys at once, one is trusted', async (t) => {
  const { check } = await keysOf(t);
  const results = await Promise.allSettled(['a1', 'b2', 'a1', 'b2'].map((met) => check(['database'], met)));
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  );
});

test('keys of several tunnels at once are all kept', async (t) => {
  const { file, check } = await keysOf(t);
  await Promise.all(['one', 'two', 'three'].map((name) => check([name], 'a1')));
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), { one: 'a1', two: 'a1', three: 'a1' });
});

test('keys that several commands trust at the same moment are all kept', async (t) => {
  const { file, check } = await keysOf(t);
  await check(['first'], 'a1');
  const names = Array.from({ length: 6 }, (_, index) => `tunnel-${index}`);
  const code = 'const { checkKey } = await import(process.argv[1]); const { createProcessIo } = await import(process.argv[2]);';
  const act = `${code} await checkKey(createProcessIo(process.env), { notice() {} }, JSON.parse(process.argv[3]), 'a1');`;
  const modules = ['./known-keys.ts', '../process/process-io.ts'].map((name) => new URL(name, import.meta.url).href);
  const env = { HOME: join(file, '../../..'), XDG_CONFIG_HOME: join(file, '../..'), PATH: process.env.PATH };
  const run = (name: string) => {
    const question = JSON.stringify({ about: name, names: [name] });
    return once(
      spawn(process.execPath, ['--input-type=module', '-e', act, ...modules, question], { env, stdio: 'inherit' }),
      'exit',
    );
  };
  assert.deepEqual(await Promise.all(names.map(run)), Array(6).fill([0, null]));
  const kept = JSON.parse(await readFile(file, 'utf8'));
  assert.deepEqual(kept, Object.fromEntries(['first', ...names].map((name) => [name, 'a1'])));
});

test('a file that holds no keys is refused in words', async (t) => {
  const { file, check } = await keysOf(t);
  for (const text of ['null', '[]', '"x"', '5', '{']) {
    await writeFile(file, text);
    await assert.rejects(check(['database'], 'a1'), { code: 'reach-keys-invalid' }, text);
  }
});
