// The timings of one page load as Lighthouse computes them, from a Chromium trace.
import type { Browser, Page } from '@playwright/test';

export interface LoadTimings {
  /** Time from the start of the navigation. */
  readonly firstContentfulPaintMs: number;
  readonly largestContentfulPaintMs: number;
  /** Total blocking time: the sum, over main-thread tasks after the first paint, of the time above 50 ms. */
  readonly blockingMs: number;
  /** Cumulative layout shift without session windows: the sum of all shifts without user input. */
  readonly layoutShift: number;
  readonly shifts: number;
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds. */
  readonly ts: number;
  readonly dur?: number;
  readonly args: {
    readonly frame?: string;
    readonly data?: { readonly score?: number; readonly had_recent_input?: boolean };
  };
}

const categories = ['loading', 'devtools.timeline', 'disabled-by-default-devtools.timeline', 'blink.user_timing'];
const longTaskMs = 50;

/** The page learns of a paint once it is on the screen, which is later than the frame that a locator sees. */
export const whenPainted = (page: Page): Promise<unknown> =>
  page.evaluate(
    "new Promise((done) => new PerformanceObserver(done).observe({ type: 'largest-contentful-paint', buffered: true }))",
  );

/** A browser traces one load at a time. `load` must resolve when the page shows its content. */
export async function traceLoad(browser: Browser, page: Page, load: () => Promise<unknown>): Promise<LoadTimings> {
  await browser.startTracing(page, { categories });
  await load();
  await whenPainted(page);
  const trace = await browser.stopTracing();
  return readTrace(JSON.parse(trace.toString()).traceEvents);
}

function readTrace(events: readonly TraceEvent[]): LoadTimings {
  const painted = events.find(({ name }) => name === 'firstContentfulPaint');
  if (!painted) throw new Error('the trace has no first contentful paint');
  const ofFrame = events.filter(({ args }) => args.frame === painted.args.frame);
  const started = lastBefore(ofFrame, 'navigationStart', painted.ts);
  const sinceStartMs = ({ ts }: TraceEvent) => (ts - started.ts) / 1000;
  const largest = ofFrame.filter(({ name }) => name === 'largestContentfulPaint::Candidate').map(sinceStartMs);
  if (largest.length === 0) throw new Error('the trace has no largest contentful paint');
  const moved = events.filter(({ name, args }) => name === 'LayoutShift' && args.data?.had_recent_input === false);
  return {
    firstContentfulPaintMs: sinceStartMs(painted),
    largestContentfulPaintMs: Math.max(...largest),
    blockingMs: sumOf(events.filter(isTaskBehind(painted)), ({ dur = 0 }) => Math.max(0, dur / 1000 - longTaskMs)),
    layoutShift: sumOf(moved, ({ args }) => args.data?.score ?? 0),
    shifts: moved.length,
  };
}

function lastBefore(events: readonly TraceEvent[], wanted: string, ts: number): TraceEvent {
  const found = events.findLast((event) => event.name === wanted && event.ts <= ts);
  if (!found) throw new Error(`the trace has no ${wanted}`);
  return found;
}

/** The event of the first paint comes from the page's main thread, so its tasks have the same process and thread. */
const isTaskBehind = (painted: TraceEvent) => (event: TraceEvent) =>
  event.name === 'RunTask' && event.pid === painted.pid && event.tid === painted.tid && event.ts + (event.dur ?? 0) > painted.ts;

const sumOf = <T>(list: readonly T[], value: (one: T) => number): number => list.reduce((sum, one) => sum + value(one), 0);
