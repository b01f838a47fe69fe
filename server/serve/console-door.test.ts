// All users share the temp folder: which sockets the dashboard's door leaves there.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openConsoleDoor } from './console-door.ts';

/** Listens on the socket, and is killed at once: the socket's file stays. */
async function leaveBehind(path: string): Promise<void> {
  const program = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
  await once(spawn(process.execPath, ['-e', program, path], { stdio: 'inherit' }), 'exit');
}

test('a start removes the socket of a killed server and keeps that of a running one', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-door-'));
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder;
  t.after(async () => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    await rm(folder, { recursive: true });
  });
  for (const name of ['underpass-console-killed', 'underpass-console-opening', 'underpass-other'])
    await mkdir(join(folder, name));
  const open = async () => {
    const opened = await openConsoleDoor(createServer());
    t.after(() => opened.close());
    return opened;
  };
  const running = await open();
  for (const name of ['underpass-console-killed', 'underpass-other']) await leaveBehind(join(folder, name, 'socket'));
  const door = await open();
  const kept = [running.path, door.path].map((path) => path.split('/').at(-2));
  assert.deepEqual((await readdir(folder)).sort(), [...kept, 'underpass-console-opening', 'underpass-other'].sort());
});
