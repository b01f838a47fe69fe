// Links to help elsewhere (spec 2, Dashboard): with their texts for a new project, else only their names.
import { type Tip, tips } from '@underpass/rules/screen/tips.ts';
import { ArrowUpRight } from 'lucide-react';

export function Tips({ isSmall }: { readonly isSmall: boolean }) {
  return (
    <section aria-labelledby="tips">
      <h2 id="tips" className={isSmall ? 'mb-2 text-sm font-semibold text-ink-soft' : 'mb-3 text-lg font-bold'}>
        Tips
      </h2>
      {isSmall ? (
        <ul className="flex flex-wrap gap-x-6 gap-y-1">
          {tips.map((tip) => (
            <li key={tip.url}>
              <TipLink
                tip={tip}
                className="inline-flex min-h-6 items-center gap-1 text-sm text-ink-soft underline underline-offset-4 hover:text-ink"
              />
            </li>
          ))}
        </ul>
      ) : (
        <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
          {tips.map((tip) => (
            <TipCard key={tip.url} tip={tip} />
          ))}
        </ul>
      )}
    </section>
  );
}

function TipLink({ tip, className }: { readonly tip: Tip; readonly className: string }) {
  return (
    <a href={tip.url} target="_blank" rel="noreferrer" className={className}>
      {tip.title}
      <ArrowUpRight aria-hidden="true" className="size-4 shrink-0 text-ink-faint" />
    </a>
  );
}

function TipCard({ tip }: { readonly tip: Tip }) {
  return (
    <li className="relative rounded-lg border bg-surface p-4 transition-colors hover:bg-hover">
      <TipLink
        tip={tip}
        className="flex items-center justify-between gap-2 font-semibold after:absolute after:inset-0 after:rounded-lg"
      />
      <p className="mt-1 text-sm text-ink-soft">{tip.text}</p>
    </li>
  );
}
