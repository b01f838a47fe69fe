// A line chart with a legend and a summary in words. uPlot loads when the chart comes into view; its place has the same height before.
import clsx from 'clsx';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { loadCode } from '../../code-loading/load-code.ts';
import { PartFailed } from '../lazy-part.tsx';
import { Skeleton } from '../spinner.tsx';
import { useInView } from '../use-in-view.ts';
import type { ChartData, SeriesTone } from './draw-chart.ts';

interface ChartProps {
  readonly chart: ChartData;
  /** Shown under the chart; screen readers get it instead of the drawing. */
  readonly summary: string;
}

const tones: Record<SeriesTone, string> = {
  accent: 'text-accent-ink',
  info: 'text-info',
  ok: 'text-ok',
  warn: 'text-warn',
  danger: 'text-danger',
};

export function Chart({ chart, summary }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const seen = useInView(place);
  const [drawn, setDrawn] = useState(false);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (!seen || failed) return;
    const target = place.current!;
    let destroy: (() => void) | undefined;
    let stale = false;
    loadCode(() => import('./draw-chart.ts'))
      .then(({ drawChart }) => {
        if (stale) return;
        destroy = drawChart(target, chart);
        setDrawn(true);
      })
      .catch((error: unknown) => {
        console.error('Chart failed', error);
        setFailed(true);
      });
    return () => {
      stale = true;
      destroy?.();
    };
  }, [chart, seen, failed]);
  return (
    <figure className="grid min-w-0 gap-2">
      <Heading title={chart.title}>
        {chart.series.length > 1 && chart.series.map(({ label, tone }) => <Legend key={label} label={label} tone={tone} />)}
      </Heading>
      <div ref={place} aria-hidden="true" className={placeClass}>
        {!drawn && <EmptyGrid />}
        {chart.series.map(({ label, tone }) => (
          <span key={label} data-tone={tone} className={clsx('hidden', tones[tone])} />
        ))}
      </div>
      {failed && <PartFailed what="The chart" onRetry={() => setFailed(false)} />}
      <figcaption className="text-sm text-ink-soft">{summary}</figcaption>
    </figure>
  );
}

/** The place of a chart while its data loads. */
export function ChartSkeleton({ title }: { readonly title: string }) {
  return (
    <div className="grid min-w-0 gap-2">
      <Heading title={title} />
      <div aria-hidden="true" className={placeClass}>
        <EmptyGrid />
      </div>
      <p className="text-sm">
        <Skeleton className="my-[0.1875rem] h-3.5 w-56 max-w-full" />
      </p>
    </div>
  );
}

const placeClass = 'relative h-56 min-w-0';

function Heading({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 text-sm">
      <span className="font-semibold">{title}</span>
      {children}
    </div>
  );
}

/** Lines where the grid of the drawing will be. */
function EmptyGrid() {
  return (
    <div data-empty-grid="" className="absolute top-2 right-7 bottom-8 left-18 grid grid-rows-5 border-b *:border-t">
      <span />
      <span />
      <span />
      <span />
      <span />
    </div>
  );
}

function Legend({ label, tone }: { readonly label: string; readonly tone: SeriesTone }) {
  return (
    <span className="inline-flex items-center gap-1.5 text-ink-soft">
      <span aria-hidden="true" className={clsx('h-[3px] w-4 rounded-full bg-current', tones[tone])} />
      {label}
    </span>
  );
}
