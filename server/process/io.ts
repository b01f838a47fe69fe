// What the server's command line touches of the outside world, passed in so that a test is one function call.

import type { Environment } from '../settings/settings.ts';

export interface Io {
  readonly stdout: { write(text: string): void };
  readonly stderr: { write(text: string): void };
  readonly env: Environment;
  readonly readFile: (path: string) => string;
  readonly readStdin: () => Promise<string>;
  readonly now: () => number;
  /** Calls back at SIGINT and SIGTERM; answers how to stop listening. */
  readonly onStopSignal: (listener: () => void) => () => void;
}
