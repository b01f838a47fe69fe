// Writes results, notices and errors: text for people, JSON for programs. It replaces control characters, so that no text from a
// server can control the terminal.
import { ClientError, errors, exitCodeOf } from '../process/error.ts';
import type { Io } from '../process/io.ts';

export interface Output {
  readonly json: boolean;
  /** Writes the result to standard output: text for people, or the value as JSON. */
  result(value: unknown, text: string): void;
  /** Writes a remark to standard error; dropped with --json. */
  notice(text: string): void;
  /** Writes a warning to standard error; as JSON with --json. */
  warning(text: string): void;
}

export function createOutput(io: Io, json: boolean): Output {
  return {
    json,
    result(value, text) {
      io.stdout.write(json ? `${renderJson(value, 2)}\n` : withNewline(printable(text)));
    },
    notice(text) {
      if (!json) io.stderr.write(withNewline(printable(text)));
    },
    warning(text) {
      io.stderr.write(json ? `${renderJson({ warning: text })}\n` : `warning: ${withNewline(printable(text))}`);
    },
  };
}

/** Writes the error and returns the exit code of the process. */
export function reportError(error: unknown, io: Io, json: boolean): number {
  const known = error instanceof ClientError ? error : unexpected(error);
  const { title } = errors[known.code];
  if (json) {
    const body = { code: known.code, title, detail: known.message, fix: known.fix, exitCode: exitCodeOf(known.code) };
    io.stderr.write(`${renderJson({ error: body })}\n`);
  } else {
    io.stderr.write(`error: ${withNewline(printable(headline(known, title)))}  fix: ${withNewline(printable(known.fix))}`);
    io.stderr.write(`  code: ${known.code}\n`);
  }
  if (io.env.UNDERPASS_DEBUG && error instanceof Error) io.stderr.write(`${error.stack ?? ''}\n`);
  return exitCodeOf(known.code);
}

/** The detail of a missing thing says enough: "Tunnel not found" needs no "Not found" before it. */
export function headline({ code, message }: ClientError, title: string): string {
  if (message === '') return title;
  return code === 'not-found' ? message : `${title}: ${message}`;
}

function unexpected(error: unknown): ClientError {
  return new ClientError('unexpected', error instanceof Error ? error.message : String(error), { cause: error });
}

/** Each column is as wide as its widest cell; the last one is not padded. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => row.map(oneLine));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => displayWidth(line[column] ?? ''))));
  return lines.map((line) => renderRow(line, widths)).join('\n');
}

function renderRow(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - displayWidth(cell)));
  return padded.join('  ').trimEnd();
}

/** `Name:  value` lines. */
export function renderFields(fields: readonly (readonly [string, string])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length)) + 1;
  return fields
    .map(([name, value]) => `${`${name}:`.padEnd(width)} ${value.replaceAll('\n', `\n${' '.repeat(width + 1)}`)}`)
    .join('\n');
}

/** Characters that a terminal obeys; names and texts of servers and visitors may hold any. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export const printable = (text: string): string => text.replace(controls, '\ufffd');

/** JSON itself escapes only those below a space. */
export const printableJson = (json: string): string =>
  json.replace(controls, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const renderJson = (value: unknown, indent?: number): string => printableJson(JSON.stringify(value, null, indent));

/** Makes one line of a text that must not begin a line of its own. */
export function oneLine(text: string): string {
  return printable(text).replace(/[\n\t]/g, ' ');
}

/** Counts code points, which is right for the names that the product allows. */
function displayWidth(text: string): number {
  return [...text].length;
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
