// Runs the whole suite in one node:test run, so that its closing lines count everything.
// Arguments are parts of paths: `npm test -- wire edge/core` runs only the files that contain one of them.
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const wanted = process.argv.slice(2);
const files = globSync('{rules,runtime,wire,control,edge,client,dashboard,server,tests,bench,tools,deploy}/**/*.test.{ts,mjs}', {
  cwd: root,
  exclude: (path) => /(^|\/)(node_modules|dist)(\/|$)/.test(typeof path === 'string' ? path : path.name),
})
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort();

// The longest whole-system test takes less than ten minutes; a hung test must not block CI.
// Many files mostly wait, for a process or a timer, so that three keep two cores busy.
const args = ['--test', '--test-timeout=600000', '--test-concurrency=3', ...files];
const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => process.exit(code ?? 1));
