// What the server's command line uses of the outside world, passed in so that a test is one function call.

import type { Environment } from '../settings/settings.ts';

export interface Io {
  readonly stdout: { write(text: string): void };
  readonly stderr: { write(text: string): void };
  readonly env: Environment;
  readonly readFile: (path: string) => string;
  readonly readStdin: () => Promise<string>;
  readonly now: () => number;
  /** Calls the listener at SIGINT and SIGTERM; returns the function that stops listening. */
  readonly onStopSignal: (listener: () => void) => () => void;
}
