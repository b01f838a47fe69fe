// What a fault costs: the visits of a row of the table, split by when they began. Pure.

/** Requests that begin later than this after a fault must not fail (spec 11, Availability). */
export const graceMs = 2_000;
/** A hung edge accepts connections, and the balancer notices by three checks of 2 s, a second apart. */
export const hungEdgeGraceMs = 10_000;

/** `through`: by the balancer's address. `address`: by that of an edge that the fault leaves alone. */
export type Way = 'through' | 'address';

export interface Visit {
  readonly way: Way;
  readonly fromMs: number;
  readonly toMs: number;
  readonly ok: boolean;
}

export interface Cost {
  readonly visits: number;
  readonly failedSoon: number;
  readonly failedLater: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

/** `faultsMs`: when parts were ended. A visit under way then, or begun within the grace after it, may fail. */
export function costOf(visits: readonly Visit[], faultsMs: readonly number[], withinMs = graceMs): Cost {
  const isSoon = ({ fromMs, toMs }: Visit): boolean => faultsMs.some((at) => fromMs <= at + withinMs && toMs >= at);
  const failed = visits.filter(({ ok }) => !ok);
  const times = visits.map(({ fromMs, toMs }) => toMs - fromMs).sort((a, b) => a - b);
  const failedSoon = failed.filter(isSoon).length;
  return {
    visits: visits.length,
    failedSoon,
    failedLater: failed.length - failedSoon,
    p99Ms: times[Math.floor(times.length * 0.99)] ?? 0,
    slowestMs: times.at(-1) ?? 0,
  };
}

export interface Row {
  readonly fault: string;
  readonly through: Cost;
  readonly address: Cost;
  readonly sockets: { readonly cut: number; readonly failedLater: number };
  /** API calls of the writer: all, refused, and lost although they were acknowledged. */
  readonly changes: { readonly acknowledged: number; readonly refused: number; readonly lost: number };
  /** Time from the fault, and from the return of the part; null if it did not happen in time. */
  readonly asBeforeMs: number | null;
  readonly routesEqual: boolean;
  readonly mails: Once;
  readonly orders: Once;
}

/** How many of the things that were asked for once were done once, and how many more often. */
export interface Once {
  readonly asked: number;
  readonly once: number;
  readonly more: number;
}

export function countOnce(asked: Iterable<string>, done: ReadonlyMap<string, number>): Once {
  const times = [...asked].map((each) => done.get(each) ?? 0);
  return { asked: times.length, once: times.filter((n) => n === 1).length, more: times.filter((n) => n > 1).length };
}

export const isGood = ({ through, address, sockets, changes, asBeforeMs, routesEqual, mails, orders }: Row): boolean =>
  through.failedLater + address.failedLater + sockets.failedLater + changes.lost === 0 &&
  asBeforeMs !== null &&
  routesEqual &&
  mails.once === mails.asked &&
  orders.more === 0;

const columns = [
  'fault',
  'requests',
  'failed soon',
  'failed later',
  'the same at other edges',
  'p99, slowest',
  'WebSockets cut',
  'as before after',
  'changes: acknowledged, refused, lost',
  'mails: asked for, sent once, twice',
  'certificates: names, ordered once, again',
  'routes equal',
] as const;

export const renderHead = (): string =>
  `| ${columns.join(' | ')} |\n|${columns.map((_, at) => (at === 0 ? '---' : '---:')).join('|')}|`;

const seconds = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);
const three = ({ asked, once, more }: Once): string => `${asked}, ${once}, ${more}`;

export function renderRow({ fault, through, address, sockets, changes, asBeforeMs, routesEqual, mails, orders }: Row): string {
  const cells = [
    fault,
    through.visits,
    through.failedSoon,
    through.failedLater + sockets.failedLater,
    `${address.visits}: ${address.failedSoon}, ${address.failedLater}`,
    `${seconds(through.p99Ms)}, ${seconds(through.slowestMs)}`,
    sockets.cut,
    asBeforeMs === null ? 'NEVER' : seconds(asBeforeMs),
    `${changes.acknowledged}, ${changes.refused}, ${changes.lost}`,
    three(mails),
    three(orders),
    routesEqual ? 'yes' : 'NO',
  ];
  return `| ${cells.join(' | ')} |`;
}
