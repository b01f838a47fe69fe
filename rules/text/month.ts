// A month of the calendar in UTC, as an address spells it: `2026-11`. Pure.

import { accept, type Parsed, refuse } from '../parsed.ts';

export interface UsageMonth {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

const monthOf = (year: number, month: number): UsageMonth => ({
  name: new Date(Date.UTC(year, month)).toISOString().slice(0, 7),
  startMs: Date.UTC(year, month),
  endMs: Date.UTC(year, month + 1),
});

export function monthAt(nowMs: number): UsageMonth {
  const now = new Date(nowMs);
  return monthOf(now.getUTCFullYear(), now.getUTCMonth());
}

export const monthBefore = ({ startMs }: UsageMonth): UsageMonth => monthAt(startMs - 1);

export function parseMonth(text: string): Parsed<UsageMonth> {
  const [, year, month] = /^(20\d\d)-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  return month === undefined ? refuse(`Month '${text}' must be like 2026-11.`) : accept(monthOf(Number(year), Number(month) - 1));
}
