// Every check that is not a test: types, lint and format, dead code, layers, comments, spec map. Prints one line each.
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkArrows } from './arrows.mjs';
import { checkSpecMap } from './spec-map.mjs';
import { checkStyle } from './style.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

// All at once: most of them use one core.
const checks = [
  command('types', 'tsc', ['-b']),
  command('lint and format', 'biome', ['check', '--error-on-warnings', '.']),
  command('dead code', 'knip', ['--no-progress', '--treat-config-hints-as-errors']),
  command('code that only tests use', 'knip', ['--no-progress', '--production']),
  script(checkArrows(root)),
  script(checkStyle(root)),
  script(checkSpecMap(root)),
];

let failed = false;
for (const check of checks) failed = !report(await check) || failed;
process.exit(failed ? 1 : 0);

function command(name, program, args) {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: root, timeout: 300_000, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      resolve({ name, passed: error === null, detail: `${stdout}${stderr}`.trim() || error?.message });
    });
  });
}

function script({ name, read, problems }) {
  return { name: `${name} (${read} read)`, passed: problems.length === 0, detail: problems.join('\n') };
}

function report({ name, passed, detail }) {
  console.log(`${passed ? 'ok' : 'FAILED'}  ${name}`);
  if (!passed) console.log(detail);
  return passed;
}
