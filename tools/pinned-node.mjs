// Runs a program of this repository under the pinned Node, even if the user started it with another. Plain JavaScript, because
// older versions cannot read TypeScript. Each program has a `main.mjs` or `build.mjs` that calls this, and a link with the same
// name and `.ts` to it: Node goes by the name of the file that the link leads to, so both names work with every Node.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pinned = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.exe' : 'node');
const neededMajor = 26;

/** `url` names the calling file, which an older Node starts again under the pinned one; `load` imports the program. */
export async function runPinned(url, load) {
  if (Number(process.versions.node.split('.')[0]) >= neededMajor) await load();
  else if (existsSync(pinned)) startAgain(fileURLToPath(url));
  else {
    process.stderr.write(
      `Node ${neededMajor} is needed, and this is ${process.version}: run npm ci in ${root}, which installs it.\n`,
    );
    process.exitCode = 1;
  }
}

function startAgain(path) {
  const child = spawn(pinned, [path, ...process.argv.slice(2)], { stdio: 'inherit' });
  const passOn = (signal) => child.kill(signal);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, passOn);
  // A terminal sends Ctrl+C to both processes.
  process.on('SIGINT', (signal) => process.stdin.isTTY || passOn(signal));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
