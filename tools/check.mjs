// Every check that is not a test: types, lint and format, dead code, layers, spec map. Prints one line each.
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkArrows } from './arrows.mjs';
import { checkSpecMap } from './spec-map.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const checks = [
  () => command('types', 'tsc', ['-b']),
  () => command('lint and format', 'biome', ['check', '--error-on-warnings', '.']),
  () => command('dead code', 'knip', ['--no-progress', '--treat-config-hints-as-errors']),
  () => command('code that only tests use', 'knip', ['--no-progress', '--production']),
  () => script(checkArrows(root)),
  () => script(checkSpecMap(root)),
];

const failed = checks.map((check) => report(check())).filter((passed) => !passed).length;
process.exit(failed === 0 ? 0 : 1);

function command(name, program, args) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8', timeout: 300_000 });
  return { name, passed: status === 0, detail: `${stdout}${stderr}`.trim() };
}

function script({ name, read, problems }) {
  return { name: `${name} (${read} read)`, passed: problems.length === 0, detail: problems.join('\n') };
}

function report({ name, passed, detail }) {
  console.log(`${passed ? 'ok' : 'FAILED'}  ${name}`);
  if (!passed) console.log(detail);
  return passed;
}
