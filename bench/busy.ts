// Other work beside a measurement: processes that each want a whole core and touch more memory than an inner cache holds.
import { spawn } from 'node:child_process';

/** Compares its parent with argv, so it ends by itself once the benchmark is gone, however that ended. */
const program = `
  const parent = Number(process.argv[1]);
  const words = new Int32Array(2 ** 20);
  while (process.ppid === parent) for (let at = 0; at < words.length; at++) words[at] = (words[at] * 31 + at) | 0;
`;

/** Returns the function that ends them. */
export function startBusyProcesses(count: number): () => void {
  const args = ['-e', program, String(process.pid)];
  const children = Array.from({ length: count }, () => spawn(process.execPath, args, { stdio: 'ignore' }));
  return () => {
    for (const child of children) child.kill();
  };
}
