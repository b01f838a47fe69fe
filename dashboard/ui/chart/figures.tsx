// A row of figures with their labels.
import clsx from 'clsx';

interface FiguresProps {
  /** True beside content that matters more. */
  readonly isSmall?: boolean;
  readonly figures: readonly { readonly label: string; readonly value: string }[];
}

export function Figures({ figures, isSmall = false }: FiguresProps) {
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg bg-line md:grid-cols-4">
      {figures.map(({ label, value }) => (
        <div key={label} className={clsx('flex flex-col bg-surface px-4 sm:px-5', isSmall ? 'py-2' : 'py-3.5')}>
          <dt className="text-sm text-ink-soft">{label}</dt>
          <dd className={clsx('font-bold tabular', isSmall ? 'text-base' : 'mt-0.5 text-xl')}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
