// When a certificate may be ordered for a name. Pure. Authorities count orders and failures per account and
// per name (Let's Encrypt: 300 new orders in 3 hours, 5 failed validations of a name in an hour); we stay below.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Overall, so that one account's limit is never reached. */
const ordersPerWindow = 240;
const orderWindowMs = 3 * hourMs;
/** For one project, and for all projects of one account: a user who makes up names uses only a small part of the common limit. */
const ordersPerProject = 40;
const ordersPerOwner = 80;
const shareWindowMs = 24 * hourMs;

/** 2 min, 8 min, 32 min, 2 h, 8 h, then daily: at most three failures in any hour. */
const firstBackOffMs = 2 * minuteMs;
const longestBackOffMs = 24 * hourMs;
const backOffGrowth = 4;

/** How long attempts are kept. */
export const attemptsKeptMs = 7 * 24 * hourMs;

/** In turns: our own names, then the first name of every account before the second of any, each account's in the order given. */
export function inTurns<T extends Pick<Attempt, 'ownerId'>>(names: readonly T[]): readonly T[] {
  const seen = new Map<string, number>();
  const ranked = names.map((name) => {
    if (name.ownerId === '') return { name, rank: 0 };
    const rank = seen.get(name.ownerId) ?? 1;
    seen.set(name.ownerId, rank + 1);
    return { name, rank };
  });
  return ranked.sort((one, other) => one.rank - other.rank).map(({ name }) => name);
}

export interface Attempt {
  readonly name: string;
  /** Empty for our own names. */
  readonly projectId: string;
  /** The account that owns the project. Empty if it is not known: for our own names, or once it is erased. */
  readonly ownerId: string;
  readonly at: number;
  readonly outcome: 'started' | 'issued' | 'failed';
  /** When the authority allows the next order; 0 if it set no time. */
  readonly retryAt: number;
}

export type OrderDecision =
  | { readonly kind: 'go' }
  | { readonly kind: 'wait'; readonly why: 'back-off' | 'project-budget' | 'owner-budget' | 'budget' };

interface Failures {
  readonly count: number;
  readonly last: Attempt | undefined;
}

/** An attempt that is still `started` was cut off by a crash: it counts as a failure. */
export function failuresInARow(attempts: readonly Attempt[], name: string): Failures {
  const own = attempts.filter((attempt) => attempt.name === name).sort((one, other) => other.at - one.at);
  const issued = own.findIndex((attempt) => attempt.outcome === 'issued');
  const failed = issued === -1 ? own : own.slice(0, issued);
  return { count: failed.length, last: failed[0] };
}

export const backOffMs = (failures: number): number =>
  failures === 0 ? 0 : Math.min(firstBackOffMs * backOffGrowth ** (failures - 1), longestBackOffMs);

const countSince = (attempts: readonly Attempt[], since: number, counts: (attempt: Attempt) => boolean): number =>
  attempts.filter((attempt) => attempt.at > since && counts(attempt)).length;

export function decideOrder(
  want: Pick<Attempt, 'name' | 'projectId' | 'ownerId'>,
  attempts: readonly Attempt[],
  nowMs: number,
): OrderDecision {
  const { count, last } = failuresInARow(attempts, want.name);
  if (last !== undefined && nowMs < Math.max(last.at + backOffMs(count), last.retryAt)) return { kind: 'wait', why: 'back-off' };
  // Our own names have no budget: a region without its certificate serves no tunnel.
  if (want.projectId === '') return { kind: 'go' };
  const since = nowMs - shareWindowMs;
  const ofProject = countSince(attempts, since, (attempt) => attempt.projectId === want.projectId);
  if (ofProject >= ordersPerProject) return { kind: 'wait', why: 'project-budget' };
  const ofOwner = countSince(attempts, since, (attempt) => attempt.ownerId === want.ownerId);
  if (ofOwner >= ordersPerOwner) return { kind: 'wait', why: 'owner-budget' };
  const all = countSince(attempts, nowMs - orderWindowMs, () => true);
  return all >= ordersPerWindow ? { kind: 'wait', why: 'budget' } : { kind: 'go' };
}
