// When a certificate may be ordered for a name. Pure. Authorities count orders and failures per account and
// per name (Let's Encrypt: 300 new orders in 3 hours, 5 failed validations of a name in an hour); we stay below.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** What an operator may set, because authorities differ and raise their limits on request. */
export interface OrderBudget {
  /** Orders in three hours, so that our account's limit at the authority is never reached. */
  readonly overall: number;
  /** Orders for one project in a day: a user who makes up names uses only a small part of the common limit. */
  readonly perProject: number;
}

const orderWindowMs = 3 * hourMs;
/** One person may order for so many projects. */
const projectsOfOwner = 2;
const shareWindowMs = 24 * hourMs;

/** 2 min, 8 min, 32 min, 2 h, 8 h, then daily: at most three failures in any hour. */
const firstBackOffMs = 2 * minuteMs;
const longestBackOffMs = 24 * hourMs;
const backOffGrowth = 4;

/** How long attempts are kept. */
export const attemptsKeptMs = 7 * 24 * hourMs;

/** Takes turns: our own names, then one name of every account a round, each account's in the order given. */
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

type OrderDecision =
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

/** All attempts, newest first, and those of each name, project and account: thousands of names are decided in one pass. */
export interface Ledger {
  readonly all: readonly Attempt[];
  readonly ofName: ReadonlyMap<string, readonly Attempt[]>;
  readonly ofProject: ReadonlyMap<string, readonly Attempt[]>;
  readonly ofOwner: ReadonlyMap<string, readonly Attempt[]>;
}

export function createLedger(attempts: readonly Attempt[]): Ledger {
  const all = attempts.toSorted((one, other) => other.at - one.at);
  return {
    all,
    ofName: Map.groupBy(all, ({ name }) => name),
    ofProject: Map.groupBy(all, ({ projectId }) => projectId),
    ofOwner: Map.groupBy(all, ({ ownerId }) => ownerId),
  };
}

const isUsedUp = (newestFirst: readonly Attempt[] | undefined, most: number, since: number): boolean =>
  (newestFirst?.[most - 1]?.at ?? Number.NEGATIVE_INFINITY) > since;

export function decideOrder(
  want: Pick<Attempt, 'name' | 'projectId' | 'ownerId'>,
  ledger: Ledger,
  budget: OrderBudget,
  nowMs: number,
): OrderDecision {
  const { count, last } = failuresInARow(ledger.ofName.get(want.name) ?? [], want.name);
  if (last !== undefined && nowMs < Math.max(last.at + backOffMs(count), last.retryAt)) return { kind: 'wait', why: 'back-off' };
  // Our own names have no budget: a region without its certificate serves no tunnel.
  if (want.projectId === '') return { kind: 'go' };
  const since = nowMs - shareWindowMs;
  const { overall, perProject } = budget;
  if (isUsedUp(ledger.ofProject.get(want.projectId), perProject, since)) return { kind: 'wait', why: 'project-budget' };
  if (isUsedUp(ledger.ofOwner.get(want.ownerId), perProject * projectsOfOwner, since))
    return { kind: 'wait', why: 'owner-budget' };
  return isUsedUp(ledger.all, overall, nowMs - orderWindowMs) ? { kind: 'wait', why: 'budget' } : { kind: 'go' };
}
