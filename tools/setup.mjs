// What `npm start` and `npm test` need before they run: packages, the built dashboard, and for tests the system's tools.
// Runs on the machine's own Node (20 or newer), before the pinned one is installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installTools, missingTools, wayTo } from './system-tools.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const log = (line) => process.stderr.write(`setup: ${line}\n`);

requireNode(20);
// npm waits for the network and the disk while Go compiles.
const command = process.argv[2] ?? '';
const tools = command === 'start' ? [] : installTools(missingTools(command), log);
await installPackages();
await buildDashboard();
checkTools(await tools);

function requireNode(major) {
  if (Number(process.versions.node.split('.')[0]) >= major) return;
  log(`Node ${major} or newer is needed, this is ${process.version}`);
  process.exit(1);
}

async function installPackages() {
  const stamp = join(root, 'node_modules', '.underpass-lock');
  const wanted = digest([join(root, 'package-lock.json')]);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  log('installing packages (about a minute, once)');
  await npm(['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  writeFileSync(stamp, wanted);
}

async function buildDashboard() {
  const stamp = join(root, 'dashboard', 'dist', '.built-from');
  // The same command builds both.
  const inspector = join(root, 'client', 'inspect', 'page-files.mjs');
  const wanted = digest([...files(join(root, 'dashboard')), ...files(join(root, 'rules')), join(root, 'package-lock.json')]);
  if (existsSync(inspector) && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  log('building the dashboard');
  await npm(['run', 'build', '-w', 'dashboard', '--silent']);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}

function checkTools(missing) {
  if (missing.length === 0) return;
  log(`missing for tests: ${missing.map((name) => `${name} (${wayTo(name)})`).join(', ')}`);
  if (process.env.CI) process.exit(1);
}

async function npm(args) {
  const command = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'], shell: process.platform === 'win32' });
  // Bundlers and npm also write hints there; a newcomer reads them only after a failure.
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    words += text;
  });
  const [status] = await once(child, 'close');
  if (status === 0) return;
  process.stderr.write(words);
  log(`npm ${args.join(' ')} failed`);
  process.exit(1);
}

function files(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !['node_modules', 'dist', '.fonts'].includes(entry.name) && !entry.name.includes('.test.'))
    .flatMap((entry) => (entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)]))
    .filter((path) => statSync(path).isFile())
    .sort();
}

function digest(paths) {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(relative(root, path)).update('\0').update(readFileSync(path)).update('\0');
  return hash.digest('hex');
}
