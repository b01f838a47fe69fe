// The plan of a tunnel's service on any system: files, and the commands to run around them. Pure; install.ts executes it.
import type { ConnectUpstreams } from '@underpass/rules/connect/command.ts';

export type Scope = 'user' | 'system';

export interface ServiceSpec {
  readonly tunnel: { readonly name: string; readonly url: string };
  readonly upstreams: ConnectUpstreams;
  readonly scope: Scope;
  /** How the program is started: [binary], or [node, main.ts]. */
  readonly self: readonly string[];
  readonly home: string;
  readonly configHome: string;
  readonly userName: string;
  readonly userId: number;
}

export interface ServiceFile {
  readonly path: string;
  readonly text: string;
  readonly mode: number;
  /** schtasks reads only UTF-16. */
  readonly encoding?: 'utf8' | 'utf16le';
}

export interface ServiceCommand {
  readonly argv: readonly [string, ...string[]];
  /** A failure is no error: it means that there is nothing to stop. */
  readonly mayFail?: boolean;
}

export interface ServicePlan {
  /** Path of the token file. Its text is not in the plan because it is a secret. */
  readonly tokenPath: string;
  readonly definition: ServiceFile;
  /** Log files of the service; removed with it. */
  readonly logs: readonly string[];
  /** Closes the folder of the token to other users, before a file is written to it. Empty: the folder is closed by its place. */
  readonly close: readonly ServiceCommand[];
  readonly install: readonly ServiceCommand[];
  /** Runs before the files are removed. */
  readonly uninstall: readonly ServiceCommand[];
  /** Runs after the files are removed. */
  readonly forget: readonly ServiceCommand[];
  /** Exits with 0 while the service runs. */
  readonly status: ServiceCommand;
  /** Further commands that the user may want. */
  readonly hints: readonly string[];
}
