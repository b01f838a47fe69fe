// A line chart with its legend and the same in words. uPlot comes when the place is in sight; the place is as tall before as after.
import clsx from 'clsx';
import { useEffect, useRef } from 'react';
import { useInView } from './use-in-view.ts';

type SeriesTone = 'accent' | 'info' | 'ok';

export interface ChartData {
  readonly title: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly format: (value: number) => string;
  readonly series: readonly { readonly label: string; readonly values: readonly number[]; readonly tone: SeriesTone }[];
}

export interface ChartProps {
  readonly chart: ChartData;
  /** Under the chart; also what screen readers get instead of the drawing. */
  readonly summary: string;
}

const TONES: Record<SeriesTone, string> = { accent: 'text-accent-ink', info: 'text-info', ok: 'text-ok' };

export function Chart({ chart, summary }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const seen = useInView(place);
  useEffect(() => {
    if (!seen) return;
    const target = place.current!;
    let destroy: (() => void) | undefined;
    let stale = false;
    import('./draw-chart.ts')
      .then(({ drawChart }) => {
        if (!stale) destroy = drawChart(target, chart);
      })
      .catch((error: unknown) => console.error('Chart failed', error));
    return () => {
      stale = true;
      destroy?.();
    };
  }, [chart, seen]);
  return (
    <figure className="grid min-w-0 gap-2">
      <div className="flex flex-wrap items-baseline gap-x-4 text-sm">
        <span className="font-semibold">{chart.title}</span>
        {chart.series.length > 1 && chart.series.map(({ label, tone }) => <Legend key={label} label={label} tone={tone} />)}
      </div>
      <div ref={place} aria-hidden="true" className="relative h-56 min-w-0">
        {chart.series.map(({ label, tone }) => (
          <span key={label} data-tone={tone} className={clsx('hidden', TONES[tone])} />
        ))}
      </div>
      <figcaption className="text-sm text-ink-soft">{summary}</figcaption>
    </figure>
  );
}

function Legend({ label, tone }: { readonly label: string; readonly tone: SeriesTone }) {
  return (
    <span className="inline-flex items-center gap-1.5 text-ink-soft">
      <span aria-hidden="true" className={clsx('h-[3px] w-4 rounded-full bg-current', TONES[tone])} />
      {label}
    </span>
  );
}
