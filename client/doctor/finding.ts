// A result of the doctor: one line per check, ok or with what to do.
import { printable } from '../terminal/output.ts';

export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'problem' | 'skipped';
  readonly detail: string;
  readonly fix?: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail });
export const problem = (check: string, detail: string, fix: string): Finding => ({ check, state: 'problem', detail, fix });
export const warning = (check: string, detail: string, fix: string): Finding => ({ check, state: 'warning', detail, fix });
export const skipped = (check: string, detail: string): Finding => ({ check, state: 'skipped', detail });

const marks: Readonly<Record<Finding['state'], string>> = { ok: 'ok  ', warning: 'warn', problem: 'FAIL', skipped: 'skip' };

export function renderFinding({ check, state, detail, fix }: Finding): string {
  const line = `${marks[state]}  ${check}: ${detail}`;
  return printable(fix === undefined ? line : `${line}\n      fix: ${fix}`);
}
