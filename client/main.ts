#!/usr/bin/env node
// The `underpass` process: the real world goes in, the exit code comes out.
import { createProcessIo } from './process-io.ts';
import { run } from './run.ts';

process.stdout.on('error', quietPipe);
process.stderr.on('error', quietPipe);
process.exitCode = await run(process.argv.slice(2), createProcessIo());
process.stdin.unref?.();

/** `underpass tunnels | head -1` closes the pipe early: that is no error. */
function quietPipe(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
}
