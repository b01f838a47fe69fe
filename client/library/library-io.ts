// The Io of the library: files, network and clock of the process, and no terminal, no signals and no settings of its own.

import { Readable, Writable } from 'node:stream';
import type { Io, TextOut } from '../process/io.ts';
import { surroundingsOf } from '../process/process-io.ts';
import { createFetch } from './fetch.ts';

const nowhere: TextOut = { write: () => {}, isTTY: false, columns: () => 80, rows: () => 24, onResize: () => () => {} };

/** `env` replaces settings of the environment. */
export function createLibraryIo(env: Io['env']): Io {
  const settings = { ...process.env, ...env };
  const input = Object.assign(Readable.from([]), { isTTY: false });
  return {
    bytes: { input, output: new Writable({ write: (_chunk, _encoding, done) => done() }) },
    stdin: input,
    stdout: nowhere,
    stderr: nowhere,
    ...surroundingsOf(settings),
    ...createFetch(settings),
    onSignal: () => () => {},
    onReaderGone: () => {},
    askSecret: async () => '',
    takeKeys: () => () => {},
  };
}
