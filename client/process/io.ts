// Everything outside the program that the command line uses, passed in so that a test is one function call.
// process-io.ts is the real one; test-kit.ts makes one for tests.

import type { Readable, Writable } from 'node:stream';

export type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface TextOut {
  write(text: string): void;
  readonly isTTY: boolean;
  columns(): number;
  rows(): number;
  /** Calls the listener when the terminal changes size. Returns a function that stops that. */
  onResize(listener: () => void): () => void;
}

interface TextIn {
  readonly isTTY: boolean;
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array | string>;
  /** Readable.iterator: with `destroyOnReturn: false` others can read on after it. */
  iterator(options: { readonly destroyOnReturn: boolean }): AsyncIterable<Uint8Array | string>;
}

export interface KeyHooks {
  /** Ctrl-Z: another program is about to use the terminal. */
  readonly onLeave: () => void;
  readonly onReturn: () => void;
}

export interface CommandResult {
  /** 127 if the program does not exist. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Io {
  /** The same standard input and output as bytes, for a command that passes them on. */
  readonly bytes: { readonly input: Readable; readonly output: Writable };
  readonly stdin: TextIn;
  readonly stdout: TextOut;
  readonly stderr: TextOut;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly userName: string;
  readonly hostName: string;
  /** 0 is root; null on systems without user ids. */
  readonly userId: number | null;
  readonly platform: 'linux' | 'darwin' | 'win32';
  readonly arch: string;
  /** How this program is started: [binary], or [node, main.ts]. */
  readonly self: readonly string[];
  readonly now: () => number;
  readonly fetch: typeof fetch;
  /** Makes fetch accept certificates of this CA (PEM) besides those of the system. */
  readonly trust: (caPem: string) => void;
  /** Runs a program without a shell, for at most 60 s. */
  readonly execute: (file: string, args: readonly string[], options?: { readonly input?: string }) => Promise<CommandResult>;
  /** Starts a program that may outlive this one. Returns false if it does not exist. */
  readonly start: (file: string, args: readonly string[]) => Promise<boolean>;
  readonly onSignal: (signal: Signal, listener: () => void) => () => void;
  /** Calls the listener when the reader of standard output closes the pipe. Without a listener the program ends then. */
  readonly onReaderGone: (listener: () => void) => void;
  /** Asks in the terminal for one line and does not show it. Empty if the input ends. Ctrl-C works. */
  readonly askSecret: (question: string) => Promise<string>;
  /** Reads typed keys without echo; Ctrl-C and Ctrl-Z still work. Returns a function that gives the keys back. */
  readonly takeKeys: (hooks: KeyHooks) => () => void;
}
