// Draws a chart with uPlot in the theme's colours. Redraws it when its width or the theme changes.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatDateTime, formatDayOfYear, formatTimeOfDay } from '../date/date-format.ts';

export type SeriesTone = 'accent' | 'info' | 'ok' | 'warn' | 'danger';

export interface ChartData {
  readonly title: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly format: (value: number) => string;
  /** The axis ends at this value or higher. A smaller axis would show rounded labels twice. */
  readonly leastTop: number;
  /** A value that is null is a gap in the line. */
  readonly series: readonly { readonly label: string; readonly values: readonly (number | null)[]; readonly tone: SeriesTone }[];
}

/** Room for labels like '1.25 MB/s'. */
const axisWidth = 72;

/** Returns a function that removes the chart. */
export function drawChart(place: HTMLElement, chart: ChartData): () => void {
  let plot: uPlot | undefined;
  const draw = () => {
    plot?.destroy();
    plot = new uPlot(optionsOf(place, chart), dataOf(chart), place);
  };
  draw();
  const width = new ResizeObserver(() => plot?.setSize(sizeOf(place)));
  width.observe(place);
  const stopTheme = onThemeChange(draw);
  return () => {
    stopTheme();
    width.disconnect();
    plot?.destroy();
  };
}

const sizeOf = (place: HTMLElement) => ({ width: place.clientWidth, height: place.clientHeight });

const dataOf = (chart: ChartData): uPlot.AlignedData => [[...chart.times], ...chart.series.map(({ values }) => [...values])];

function optionsOf(place: HTMLElement, chart: ChartData): uPlot.Options {
  const style = getComputedStyle(place);
  const ink = resolveColour(place, '--color-ink-faint');
  const line = resolveColour(place, '--color-line');
  const axis: uPlot.Axis = {
    stroke: ink,
    font: `12px ${style.fontFamily}`,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
  };
  return {
    ...sizeOf(place),
    // Half of the last time's label stands right of the grid.
    padding: [8, 28, 0, 0],
    legend: { show: false },
    cursor: { points: { size: 7 }, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(chart.leastTop, max * 1.1)] } },
    axes: [
      { ...axis, size: 32, space: 72, values: (_plot, values) => values.map(timeFormat(chart.times)) },
      { ...axis, size: axisWidth, values: (_plot, values) => values.map(chart.format) },
    ],
    series: [{}, ...chart.series.map((series) => seriesOf(place, series))],
    plugins: [readout(chart)],
  };
}

const daySeconds = 86_400;

/** The time of day, or the date if the chart spans several days. */
function timeFormat(times: readonly number[]): (seconds: number) => string {
  const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
  const format = span > 2 * daySeconds ? formatDayOfYear : formatTimeOfDay;
  return (seconds) => format(seconds * 1000);
}

function seriesOf(place: HTMLElement, { label, tone }: ChartData['series'][number]): uPlot.Series {
  const probe = place.querySelector(`[data-tone="${tone}"]`)!;
  const stroke = getComputedStyle(probe).color;
  return { label, stroke, width: 2, points: { show: false } };
}

/** Custom properties contain light-dark(), which only a colour property resolves. */
function resolveColour(place: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const valueText = ({ format }: ChartData, value: number | null | undefined) => (value == null ? 'none' : format(value));

/** The values under the pointer. */
function readout(chart: ChartData): uPlot.Plugin {
  const note = document.createElement('div');
  note.className =
    'pointer-events-none absolute top-1 right-1 z-10 rounded-sm border bg-raised px-2 py-1 font-sans text-xs tabular shadow-sm';
  return {
    hooks: {
      init: (plot) => {
        note.hidden = true;
        plot.over.append(note);
      },
      setCursor: ({ cursor }) => {
        const index = cursor.idx;
        const at = index == null ? undefined : chart.times[index];
        note.hidden = at === undefined;
        if (at === undefined || index == null) return;
        const values = chart.series.map(({ label, values: list }) => `${label} ${valueText(chart, list[index])}`);
        note.textContent = [formatDateTime(new Date(at * 1000).toISOString(), 'short').text, ...values].join(' · ');
      },
    },
  };
}

function onThemeChange(listener: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const chosen = new MutationObserver(listener);
  system.addEventListener('change', listener);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => {
    system.removeEventListener('change', listener);
    chosen.disconnect();
  };
}
