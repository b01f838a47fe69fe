// The `underpass` process: runs the command line with the real standard streams, files and network.
import { countBuffersWithHeap } from '@underpass/runtime/heap.ts';
import { run } from './cli.ts';
import { ClientError, exitCodes, fileReason } from './process/error.ts';
import type { Io } from './process/io.ts';
import { createProcessIo, takeEnvironment } from './process/process-io.ts';
import { reportError } from './terminal/output.ts';

/** Longer than a closing carrier waits for its last bytes. A shell that completes a word waits for the end of the program. */
const lingerMs = process.argv[2] === 'complete' ? 0 : 3_000;

let readerGone: (() => void) | undefined;
const io: Io = {
  ...createProcessIo(takeEnvironment()),
  onReaderGone: (listener) => {
    readerGone = listener;
  },
};
process.stdout.on('error', outputLost);
process.stderr.on('error', pipeClosed);
countBuffersWithHeap();
const code = await run(process.argv.slice(2), io);
process.exitCode ||= code;
process.stdin.unref?.();
endBeforeLong();

/** Waits for a slow reader of the output, but not for work that cannot be cancelled, such as a DNS query without an answer. */
function endBeforeLong(): void {
  const end = (): void => {
    if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
    endBeforeLong();
  };
  setTimeout(end, lingerMs).unref();
}

/** `underpass tunnels | head -1` closes the pipe early, which is not an error. A client that carries drains first. */
function pipeClosed({ code }: NodeJS.ErrnoException): void {
  if (code !== 'EPIPE') return;
  if (readerGone === undefined) process.exit(0);
  readerGone();
}

/** A full disk loses output but does not stop the tunnel; it is reported once. A terminal that closes sends SIGHUP as well. */
function outputLost(cause: NodeJS.ErrnoException): void {
  pipeClosed(cause);
  if (['EIO', 'EPIPE'].includes(cause.code ?? '') || process.exitCode === exitCodes.local) return;
  const error = new ClientError('file-not-written', `standard output (${fileReason(cause)})`, { cause });
  process.exitCode = reportError(error, io, process.argv.includes('--json'));
}
