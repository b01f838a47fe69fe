// Lines of MCP servers for the log: bounded in length and number, without values of the server's secrets. Pure.

import type { McpLimits } from './limits.ts';

/** Names of settings whose values are secrets. */
const secretName = /key|token|secret|passw|credential|auth|dsn|database_url|connection/i;
/** A shorter value hides nothing, and its removal would make lines unreadable. */
const minSecretChars = 6;

interface ServerLogOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly limits: Pick<McpLimits, 'logLineChars' | 'logLines'>;
  readonly now: () => number;
  readonly write: (line: string) => void;
}

/** Takes a line. Beyond the bound of a second, lines are counted, and the next second says how many are missing. */
export function createServerLog({ env, limits, now, write }: ServerLogOptions): (line: string) => void {
  const secrets = secretsIn(env);
  let second = 0;
  let lines = 0;
  return (line) => {
    const current = Math.floor(now() / 1000);
    if (current !== second) {
      if (lines > limits.logLines) write(`(${lines - limits.logLines} lines were left out)`);
      second = current;
      lines = 0;
    }
    lines += 1;
    if (lines <= limits.logLines) write(shorten(hide(line, secrets), limits.logLineChars));
  };
}

/** Longest first: one may contain another. */
function secretsIn(env: ServerLogOptions['env']): readonly string[] {
  const values = Object.entries(env).flatMap(([name, value = '']) =>
    secretName.test(name) && value.length >= minSecretChars ? [value] : [],
  );
  return values.sort((a, b) => b.length - a.length);
}

const hide = (line: string, secrets: readonly string[]): string =>
  secrets.reduce((text, secret) => text.replaceAll(secret, '***'), line);

const shorten = (line: string, most: number): string => (line.length > most ? `${line.slice(0, most)}…` : line);
