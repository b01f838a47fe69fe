// What a service of one tunnel is on any system: files, and commands before and after them. Pure; install.ts carries it out.
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
  /** What schtasks reads must be UTF-16. */
  readonly encoding?: 'utf8' | 'utf16le';
}

export interface ServiceCommand {
  readonly argv: readonly [string, ...string[]];
  /** A refusal is no error: it says that there is nothing to stop. */
  readonly mayFail?: boolean;
}

export interface ServicePlan {
  /** Where the token lies, apart from `files` because its text is a secret. */
  readonly tokenPath: string;
  readonly definition: ServiceFile;
  /** What the service writes while it runs; removed with it. */
  readonly logs: readonly string[];
  readonly install: readonly ServiceCommand[];
  /** Before the files go. */
  readonly uninstall: readonly ServiceCommand[];
  /** After the files went. */
  readonly forget: readonly ServiceCommand[];
  /** Answers 0 while it runs. */
  readonly status: ServiceCommand;
  /** For people: what else they may want to do. */
  readonly hints: readonly string[];
}
