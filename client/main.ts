#!/usr/bin/env node
// The `underpass` process: the real world goes in, the exit code comes out.
import * as http from 'node:http';
import { countBuffersWithHeap } from '@underpass/wire/heap.ts';
import { ClientError, exitCodes, fileReason } from './process/error.ts';
import type { Io } from './process/io.ts';
import { createProcessIo } from './process/process-io.ts';
import { run } from './run.ts';
import { reportError } from './terminal/output.ts';

/** Longer than a carrier lingers for its last bytes. */
const lingerMs = 3_000;

let readerGone: (() => void) | undefined;
const io: Io = {
  ...createProcessIo(),
  onReaderGone: (listener) => {
    readerGone = listener;
  },
};
process.stdout.on('error', outputLost);
process.stderr.on('error', pipeClosed);
takeProxyFromEnvironment();
countBuffersWithHeap();
const code = await run(process.argv.slice(2), io);
process.exitCode ||= code;
process.stdin.unref?.();
endBeforeLong();

/** For fetch under Node; the compiled file does it by itself and has no such function. */
function takeProxyFromEnvironment(): void {
  try {
    http.setGlobalProxyFromEnv?.();
  } catch {
    // Not a URL: the data plane and the doctor say so in their own words.
  }
}

/** What nobody can take back, such as the question for a name that no resolver answers, is not waited for; a slow reader is. */
function endBeforeLong(): void {
  const end = (): void => {
    if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
    endBeforeLong();
  };
  setTimeout(end, lingerMs).unref();
}

/** `underpass tunnels | head -1` closes the pipe early: that is no error. Who carries lets visitors finish first. */
function pipeClosed({ code }: NodeJS.ErrnoException): void {
  if (code !== 'EPIPE') return;
  if (readerGone === undefined) process.exit(0);
  readerGone();
}

/** A full disk costs the lines that it has no room for, not the tunnel; said once. A terminal that vanishes is told by SIGHUP. */
function outputLost(cause: NodeJS.ErrnoException): void {
  pipeClosed(cause);
  if (['EIO', 'EPIPE'].includes(cause.code ?? '') || process.exitCode === exitCodes.local) return;
  const error = new ClientError('file-not-written', `standard output (${fileReason(cause)})`, { cause });
  process.exitCode = reportError(error, io, process.argv.includes('--json'));
}
