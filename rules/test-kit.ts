// What tests of every workspace share: tables of cases, where each row is checked and named in the failure, and the one way to wait
// for what happens elsewhere.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Parsed } from './parsed.ts';

export function eachCase<Row>(context: TestContext, rows: readonly Row[], check: (row: Row) => void): void {
  for (const row of rows) {
    try {
      check(row);
    } catch (cause) {
      const found = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`case ${JSON.stringify(row)}: ${found}`, { cause });
    }
  }
  context.diagnostic(`${rows.length} cases`);
}

/** Input, expected value, and the reason of an odd row. */
export type AcceptRow<T> = readonly [input: string, value: T, why?: string];
export type RefuseRow = readonly [input: string, why?: string];

export function eachAccepted<T>(context: TestContext, parse: (text: string) => Parsed<T>, rows: readonly AcceptRow<T>[]): void {
  eachCase(context, rows, ([input, value]) => assert.deepEqual(parse(input), { ok: true, value }));
}

export function eachRefused(
  context: TestContext,
  parse: (text: string) => Parsed<unknown>,
  message: string,
  rows: readonly RefuseRow[],
): void {
  eachCase(context, rows, ([input]) => assert.deepEqual(parse(input), { ok: false, message }));
}

/** Asks again until the value holds, and fails with the last value: for what another process, or a later turn of this one, does. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  holds: (value: T) => boolean = Boolean,
  withinMs = 60_000,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (let pauseMs = 0; ; pauseMs = Math.min(pauseMs + 5, 50)) {
    const value = await ask();
    if (holds(value)) return value;
    assert.ok(performance.now() < end, `still ${JSON.stringify(value)} after ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
