// When a name may be asked of the certificate authority. Pure. Authorities count orders and failures per account and
// per name (Let's Encrypt: 300 new orders in 3 hours, 5 failed validations of a name in an hour); we stay below.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Overall, so that one account's limit is never reached. */
const ordersPerWindow = 240;
const orderWindowMs = 3 * hourMs;
/** For one project: whoever makes up names burns a small part of what all share. */
const ordersPerProject = 40;
const projectWindowMs = 24 * hourMs;

/** 2 min, 8 min, 32 min, 2 h, 8 h, then daily: at most three failures in any hour. */
const firstBackOffMs = 2 * minuteMs;
const longestBackOffMs = 24 * hourMs;
const backOffGrowth = 4;

/** How far back attempts have to be known. */
export const attemptsKeptMs = 7 * 24 * hourMs;

export interface Attempt {
  readonly name: string;
  /** Empty for our own names. */
  readonly projectId: string;
  readonly at: number;
  readonly outcome: 'started' | 'issued' | 'failed';
}

export type OrderDecision =
  | { readonly kind: 'go' }
  | { readonly kind: 'wait'; readonly why: 'back-off' | 'project-budget' | 'budget' };

/** A `started` that never became anything was cut off by a crash: it counts as a failure. */
export function failuresInARow(attempts: readonly Attempt[], name: string): { readonly count: number; readonly lastAt: number } {
  const own = attempts.filter((attempt) => attempt.name === name).sort((one, other) => other.at - one.at);
  const issued = own.findIndex((attempt) => attempt.outcome === 'issued');
  const failed = issued === -1 ? own : own.slice(0, issued);
  return { count: failed.length, lastAt: failed[0]?.at ?? 0 };
}

export const backOffMs = (failures: number): number =>
  failures === 0 ? 0 : Math.min(firstBackOffMs * backOffGrowth ** (failures - 1), longestBackOffMs);

const countSince = (attempts: readonly Attempt[], since: number, counts: (attempt: Attempt) => boolean): number =>
  attempts.filter((attempt) => attempt.at > since && counts(attempt)).length;

export function decideOrder(
  want: Pick<Attempt, 'name' | 'projectId'>,
  attempts: readonly Attempt[],
  nowMs: number,
): OrderDecision {
  const { count, lastAt } = failuresInARow(attempts, want.name);
  if (nowMs < lastAt + backOffMs(count)) return { kind: 'wait', why: 'back-off' };
  const ofProject = countSince(attempts, nowMs - projectWindowMs, (attempt) => attempt.projectId === want.projectId);
  if (want.projectId !== '' && ofProject >= ordersPerProject) return { kind: 'wait', why: 'project-budget' };
  // Our own names are never starved: a region without its certificate serves nobody.
  const all = countSince(attempts, nowMs - orderWindowMs, () => true);
  return want.projectId !== '' && all >= ordersPerWindow ? { kind: 'wait', why: 'budget' } : { kind: 'go' };
}
