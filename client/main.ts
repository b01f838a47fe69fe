#!/usr/bin/env node
// The `underpass` process: the real world goes in, the exit code comes out.
import * as http from 'node:http';
import { countBuffersWithHeap } from '@underpass/wire/heap.ts';
import { createProcessIo } from './process-io.ts';
import { run } from './run.ts';

/** Longer than a carrier lingers for its last bytes. */
const lingerMs = 3_000;

process.stdout.on('error', quietPipe);
process.stderr.on('error', quietPipe);
takeProxyFromEnvironment();
countBuffersWithHeap();
process.exitCode = await run(process.argv.slice(2), createProcessIo());
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

/** `underpass tunnels | head -1` closes the pipe early: that is no error. A terminal that vanishes is told by SIGHUP. */
function quietPipe(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(0);
  if (error.code !== 'EIO') throw error;
}
