// What the command line touches of the outside world, passed in so that a test is one function call.
// The real one is process-io.ts; tests have test-kit.ts.

export type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface TextOut {
  write(text: string): void;
  readonly isTTY: boolean;
  columns(): number;
  rows(): number;
  /** Calls back when the terminal changes size; answers how to stop. */
  onResize(listener: () => void): () => void;
}

export interface TextIn {
  readonly isTTY: boolean;
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array | string>;
}

export interface KeyHooks {
  /** Something else is about to have the terminal (Ctrl-Z). */
  readonly onLeave: () => void;
  readonly onReturn: () => void;
}

export interface CommandResult {
  /** 127 where the program does not exist. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Io {
  readonly stdin: TextIn;
  readonly stdout: TextOut;
  readonly stderr: TextOut;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly userName: string;
  /** 0 is root; null where the system has no such number. */
  readonly userId: number | null;
  readonly platform: 'linux' | 'darwin' | 'win32';
  readonly arch: string;
  /** How this program is started: [binary], or [node, main.ts]. */
  readonly self: readonly string[];
  readonly now: () => number;
  readonly fetch: typeof fetch;
  /** Runs a program without a shell, for at most 60 s. */
  readonly execute: (file: string, args: readonly string[], options?: { readonly input?: string }) => Promise<CommandResult>;
  /** Starts a program that goes on without this one; answers false where there is none such. */
  readonly start: (file: string, args: readonly string[]) => Promise<boolean>;
  readonly onSignal: (signal: Signal, listener: () => void) => () => void;
  /** Whoever read standard output has closed the pipe. That ends the program where nobody listens. */
  readonly onReaderGone: (listener: () => void) => void;
  /** Asks at the terminal for one line, which is not shown; empty where there is none. Ctrl-C works. */
  readonly askSecret: (question: string) => Promise<string>;
  /** Takes what is typed at the terminal, unseen; Ctrl-C and its like still work. Answers how to give the keys back. */
  readonly takeKeys: (hooks: KeyHooks) => () => void;
}
