import assert from 'node:assert/strict';
import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { pino } from 'pino';
import { LineFile, lineFileError } from './line-file.ts';

const log = pino({ level: 'silent' });

async function tempPath(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-lines-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'access.log');
}

/** A file whose writes take so many bytes each, or fail. */
function fakeCalls() {
  const fake = { text: '', room: Number.POSITIVE_INFINITY, error: null as string | null, writes: [] as number[] };
  const calls = {
    open: async () => 9,
    close: async () => {},
    identify: async () => 'same',
    write: async (_fd: number, bytes: Buffer) => {
      if (fake.error !== null) throw Object.assign(new Error('no'), { code: fake.error });
      const taken = bytes.subarray(0, fake.room);
      fake.writes.push(taken.length);
      fake.text += taken.toString('latin1');
      return taken.length;
    },
  };
  return { fake, calls };
}

it('appends lines in batches, to what the file had', async (t) => {
  const path = await tempPath(t);
  await writeFile(path, 'old\n');
  const file = await LineFile.open(path, log);
  for (let at = 0; at < 1_000; at++) file.write(`line ${at}\n`);
  await file.close();
  const lines = (await readFile(path, 'utf8')).split('\n');
  assert.deepEqual([lines.length, lines[0], lines[1], lines[1_000]], [1_002, 'old', 'line 0', 'line 999']);
});

it('makes a file that others cannot read', async (t) => {
  const path = await tempPath(t);
  const file = await LineFile.open(path, log);
  await file.close();
  assert.equal((await stat(path)).mode & 0o007, 0);
});

it('goes on in a new file after the old one was renamed, and loses no line', async (t) => {
  const path = await tempPath(t);
  const file = await LineFile.open(path, log);
  file.write('before\n');
  await file.flush();
  await rename(path, `${path}.1`);
  file.write('after\n');
  await file.flush();
  assert.deepEqual([await readFile(`${path}.1`, 'utf8'), await readFile(path, 'utf8')], ['before\n', 'after\n']);
  await file.close();
});

it('refuses a path that it cannot open, with the path in the message', async (t) => {
  const path = join(await tempPath(t), 'missing');
  await assert.rejects(LineFile.open(path, log), (error: NodeJS.ErrnoException) => {
    assert.equal(error.code, lineFileError);
    return error.message.includes(path);
  });
});

it('ends a line that was written in part before it begins another', async () => {
  const { fake, calls } = fakeCalls();
  const file = await LineFile.open('/x', log, calls);
  fake.room = 3;
  file.write('first\n');
  file.write('second\n');
  await file.close();
  assert.equal(fake.text, 'first\nsecond\n');
});

it('writes to standard output in pieces that a pipe takes whole, each of whole lines', async () => {
  const { fake, calls } = fakeCalls();
  const file = await LineFile.open('stdout', log, calls);
  for (let at = 0; at < 100; at++) file.write(`${'x'.repeat(999)}\n`);
  await file.close();
  assert.ok(fake.writes.every((bytes) => bytes <= 4_096 && bytes % 1_000 === 0));
  assert.equal(fake.text.length, 100_000);
});

for (const code of ['EAGAIN', 'ENOSPC'])
  it(`keeps lines within a bound while writes fail with ${code}, counts the rest, and writes on later`, async () => {
    const { fake, calls } = fakeCalls();
    const file = await LineFile.open('/x', log, calls);
    fake.error = code;
    const line = `${'x'.repeat(1_023)}\n`;
    for (let at = 0; at < 5_000; at++) file.write(line);
    await file.flush();
    assert.equal(file.dropped, 5_000 - 4_096);
    fake.error = null;
    await eventually(() => fake.text.length === 4_096 * 1_024);
    await file.close();
  });
