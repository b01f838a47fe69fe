// Looks for damage in the file of the embedded database. Another process does it: SQLite's check holds its thread until it ends,
// and only a process can be stopped at any time.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

type FileCheck = 'whole' | 'unfinished' | { readonly damage: string };

const program = fileURLToPath(new URL('./quick-check.ts', import.meta.url));

/** Reads every page once and changes nothing. `unfinished`: out of time, or the file could not be opened. */
export const checkSqliteFile = (path: string, limitMs: number): Promise<FileCheck> =>
  new Promise((resolve) => {
    const options = { timeout: limitMs, killSignal: 'SIGKILL', env: {} } as const;
    execFile(process.execPath, [program, path], options, (error, stdout) => {
      if (error === null) resolve('whole');
      else if (error.code === 1 && stdout !== '') resolve({ damage: stdout.replace(/\s+/g, ' ') });
      else resolve('unfinished');
    });
  });
