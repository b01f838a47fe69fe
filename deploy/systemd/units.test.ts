import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { requireTool, skipWithout } from '../../tests/helpers/tool.ts';

const here = dirname(fileURLToPath(import.meta.url));
const programs = /\/usr\/local\/bin\/underpass|\/opt\/underpass\/node_modules\/\.bin\/node/g;

for (const unit of readdirSync(here).filter((name) => name.endsWith('.service'))) {
  test(`systemd reports no problem in ${unit}`, { skip: skipWithout('systemd-analyze') }, (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'underpass-unit-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const program = join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(folder, unit), readFileSync(join(here, unit), 'utf8').replaceAll(programs, program));
    const { status, stderr } = spawnSync(requireTool('systemd-analyze'), ['verify', join(folder, unit)], { encoding: 'utf8' });
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  });
}
