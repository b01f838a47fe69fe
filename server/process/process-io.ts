// The real outside world of the command line.

import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Io } from './io.ts';

export function createProcessIo(): Io {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
    readStdin: () => text(process.stdin),
    now: Date.now,
    onStopSignal: (listener) => {
      process.on('SIGINT', listener).on('SIGTERM', listener);
      return () => void process.off('SIGINT', listener).off('SIGTERM', listener);
    },
  };
}
