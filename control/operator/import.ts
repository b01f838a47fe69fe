// Imports the lines of a CSV file that it can read, and answers the problems of the others.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Parsed } from '@underpass/rules/parsed.ts';
import { csvLines, parseCsvLine } from '../people/audit/csv.ts';
import { piecesOf } from '../platform/store/pieces.ts';
import { refuse } from '../request/http/refusal.ts';
import { type ActingOperator, auditOperator } from './actor.ts';

/** About 5 MB; split larger files. */
const linesMost = 50_000;
/** Lines that are read in one turn of the event loop: some 10 ms, so that other calls go on. */
const readAtOnce = 250;
/** Enough for the operator to find the mistake in the file. */
const problemsShown = 20;

/** The lines that count. */
export function importedLines(csv: string, counts: (line: string) => boolean = () => true): readonly string[] {
  const lines = csvLines(csv).filter(counts);
  return lines.length <= linesMost ? lines : refuse('invalid', `A file may have at most ${linesMost} lines.`);
}

export interface Import<T> {
  readonly action: 'block.import' | 'subscription.import';
  readonly lines: readonly string[];
  /** The first line that is no header. */
  readonly from?: number;
  readonly parse: (cells: readonly string[] | undefined) => Parsed<T>;
  /** Rows of one transaction: SQLite runs one write at a time. An import that stops half-way can be repeated. */
  readonly writtenAtOnce: number;
  /** Returns how many of them are new. */
  readonly write: (some: readonly T[]) => Promise<number>;
}

async function parseLines<T>({ lines, from = 0, parse }: Import<T>) {
  const found: T[] = [];
  const problems: string[] = [];
  for (let at = from; at < lines.length; at++) {
    if (at % readAtOnce === 0) await nextTurn();
    const parsed = parse(parseCsvLine(lines[at]!));
    if (parsed.ok) found.push(parsed.value);
    else if (problems.length < problemsShown) problems.push(`line ${at + 1}: ${parsed.message}`);
  }
  return { found, problems };
}

export async function importRows<T>(
  operator: ActingOperator,
  imported: Import<T>,
): Promise<{ readonly imported: number; readonly problems?: string[] }> {
  const { found, problems } = await parseLines(imported);
  const note = { action: imported.action, target: `${found.length} lines` };
  await operator.deps.store.write((trx) => auditOperator(trx, operator, note));
  let count = 0;
  for (const some of piecesOf(found, imported.writtenAtOnce)) {
    count += await imported.write(some);
    // The embedded database answers without leaving the event loop's turn: without this, nobody else is served until the end.
    await nextTurn();
  }
  return { imported: count, ...(problems.length === 0 ? {} : { problems }) };
}
