// Writes log lines to standard error without ever waiting for its reader. Lines that a full pipe does not take are dropped and
// counted, and the log says how many as soon as it flows again.

import { writeSync } from 'node:fs';

/** Takes as many bytes as it can at once and returns their number; throws EAGAIN if there is no room. */
type Write = (bytes: Buffer) => number;

const writeStandardError: Write = (bytes) => writeSync(2, bytes);
/** How often a stuck output is tried without a new line. */
const retryMs = 1_000;

const renderDropped = (count: number): string =>
  `${JSON.stringify({ level: 40, time: Date.now(), dropped: count, msg: `log: ${count} lines were dropped, because nobody read the log` })}\n`;

interface LogOutput {
  write(line: string): void;
}

export function createLogOutput(write: Write = writeStandardError): LogOutput {
  // Its getter sets standard error to non-blocking, where that is a pipe or a socket.
  if (write === writeStandardError) process.stderr;
  /** The end of a line that was written in part. */
  let rest = Buffer.alloc(0);
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;

  /** True if nothing is left. */
  const push = (): boolean => {
    try {
      while (rest.length > 0) rest = rest.subarray(write(rest));
      return true;
    } catch {
      return false;
    }
  };
  const pushNotice = (): boolean => {
    if (!push()) return false;
    if (dropped === 0) return true;
    rest = Buffer.from(renderDropped(dropped));
    const before = rest.length;
    const done = push();
    // Else not one byte of it has left, and the number may still grow.
    if (rest.length < before) dropped = 0;
    else rest = Buffer.alloc(0);
    return done;
  };
  const retry = (): void => {
    timer ??= setInterval(() => {
      if (!pushNotice()) return;
      clearInterval(timer);
      timer = undefined;
    }, retryMs).unref();
  };
  return {
    write: (line) => {
      if (pushNotice()) {
        rest = Buffer.from(line);
        const before = rest.length;
        if (push()) return;
        if (rest.length === before) {
          rest = Buffer.alloc(0);
          dropped += 1;
        }
      } else dropped += 1;
      retry();
    },
  };
}
