// A trace of values as a small line, without axes: it shows the shape, and the figure beside it the amount. The browser scales it.
import clsx from 'clsx';

const width = 100;
const height = 24;
/** The line is not cut at the edges. */
const inset = 2;

/** The points of the line. All zero is the base line. */
function pointsOf(values: readonly number[]): readonly string[] {
  const top = Math.max(1, ...values);
  const step = width / Math.max(1, values.length - 1);
  const y = (value: number): number => height - inset - (value / top) * (height - 2 * inset);
  return values.map((value, index) => `${(index * step).toFixed(1)},${y(value).toFixed(1)}`);
}

export function Sparkline({ values, className }: { readonly values: readonly number[]; readonly className: string }) {
  const isQuiet = values.every((value) => value === 0);
  const points = pointsOf(values.length > 1 ? values : [0, 0]);
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      className={clsx('block', isQuiet ? 'text-edge/50' : 'text-accent-ink', className)}
    >
      {!isQuiet && <polygon points={`0,${height} ${points.join(' ')} ${width},${height}`} className="fill-current opacity-15" />}
      <polyline points={points.join(' ')} fill="none" stroke="currentColor" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
