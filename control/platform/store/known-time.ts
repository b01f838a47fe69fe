// The time that this database has seen. The clock of a machine can jump, so whatever deletes or gives up for good by the clock
// asks here first.

import { dayMs, hourMs } from '@underpass/rules/limits.ts';
import type { Logger } from 'pino';
import { readSetting, writeSetting } from './setting.ts';
import type { Queries, Store } from './store.ts';

/** A larger step between two looks, in either direction, is a jump. A server may be switched off over a weekend. */
const jumpMs = 3 * dayMs;
const isJump = (stepMs: number): boolean => Math.abs(stepMs) > jumpMs;
/**
 * A running server looks every ten minutes. After a larger step it was switched off, or the clock is wrong: nothing is deleted
 * until it has run for as long as the step, a day at most. A step counts at most this much towards such a wait.
 */
const longestStepMs = hourMs;

const settingName = 'known-time';

interface KnownTime {
  /** The clock at the last look. */
  readonly at: number;
  /** How much longer nothing may be deleted, so that the operator can correct the clock; 0 if the time is trusted. */
  readonly waitMs: number;
  /** Tables that the next sweep may empty: the log has said so, and the wait was for them. */
  readonly announced?: readonly string[];
  /** The wait is for a step that a switched-off server explains, so it alarms nobody. */
  readonly quiet?: true;
}

/** A database without this row is new, or was last used by an older release: then its newest audit row tells the time. */
async function readKnownTime(db: Queries, nowMs: number): Promise<KnownTime> {
  const known = await readSetting<KnownTime>(db, settingName);
  if (known !== undefined) return known;
  const newest = await db.selectFrom('audit').select('at').orderBy('id', 'desc').limit(1).executeTakeFirst();
  return { at: newest?.at ?? nowMs, waitMs: 0 };
}

const writeKnownTime = (db: Queries, known: KnownTime): Promise<void> => writeSetting(db, settingName, known);

/** Pure: what is known after a look at the clock. */
function nextKnownTime(known: KnownTime, nowMs: number): KnownTime {
  const step = nowMs - known.at;
  const size = Math.abs(step);
  if (isJump(step)) return { at: nowMs, waitMs: dayMs };
  if (size <= longestStepMs) return { ...known, at: nowMs, waitMs: Math.max(0, known.waitMs - Math.max(step, 0)) };
  const waitMs = Math.max(known.waitMs, Math.min(size, dayMs));
  const isAlarmed = known.waitMs > 0 && known.quiet === undefined && known.announced === undefined;
  return isAlarmed ? { at: nowMs, waitMs } : { at: nowMs, waitMs, quiet: true };
}

/** The 72 hours of missing proofs begin again: a part of them may never have passed. */
async function forgetMisses(trx: Queries, nowMs: number): Promise<void> {
  await trx.updateTable('domains').set({ misses: 0, first_missed_at: null }).where('misses', '>', 0).execute();
  // A check in the future would put off the next one until then.
  await trx.updateTable('domains').set({ checked_at: nowMs }).where('checked_at', '>', nowMs).execute();
}

const alarm = (log: Logger, stepMs: number, nowMs: number): void =>
  log.error(
    { before: new Date(nowMs - stepMs).toISOString(), now: new Date(nowMs).toISOString() },
    `the clock jumped by ${Math.round(stepMs / dayMs)} days: what expired is kept for 24 hours more. Correct the clock; if it is right, do nothing`,
  );

/** Looks at the clock, and notes it. While `waitMs` is not 0, the sweep deletes nothing. */
export async function lookAtClock(store: Store, nowMs: number, log: Logger): Promise<KnownTime> {
  const [stepMs, known] = await store.write(async (trx) => {
    const before = await readKnownTime(trx, nowMs);
    const after = nextKnownTime(before, nowMs);
    await writeKnownTime(trx, after);
    if (isJump(nowMs - before.at)) await forgetMisses(trx, nowMs);
    return [nowMs - before.at, after] as const;
  });
  if (isJump(stepMs)) alarm(log, stepMs, nowMs);
  return known;
}

/** True until the clock has run on for long enough after a large step. A wait for announced tables is no doubt about the time. */
export async function isTimeInDoubt(store: Store, nowMs: number, log: Logger): Promise<boolean> {
  const { waitMs, announced } = await lookAtClock(store, nowMs, log);
  return waitMs > 0 && announced === undefined;
}

/** The next sweep is a day away, and may empty these tables. No tables: the announcement is over. */
export const announce = (db: Queries, nowMs: number, tables: readonly string[]): Promise<void> =>
  writeKnownTime(db, { at: nowMs, waitMs: tables.length === 0 ? 0 : dayMs, announced: tables });

/** Whether the deletion of expired rows waits for something that the operator should look at, for the metric. */
export async function isWaiting(db: Queries): Promise<boolean> {
  const { waitMs, quiet } = await readKnownTime(db, 0);
  return waitMs > 0 && !quiet;
}
