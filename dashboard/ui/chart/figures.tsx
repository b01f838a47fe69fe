// A row of figures with their labels.

export interface FiguresProps {
  readonly figures: readonly { readonly label: string; readonly value: string }[];
}

export function Figures({ figures }: FiguresProps) {
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg bg-line md:grid-cols-4">
      {figures.map(({ label, value }) => (
        <div key={label} className="flex flex-col bg-surface px-4 py-3.5 sm:px-5">
          <dt className="text-sm text-ink-soft">{label}</dt>
          <dd className="mt-0.5 text-xl font-bold tabular">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
