// What needs somebody, each with the way to the place where it is mended; one quiet line if nothing does.
import { ChevronRight, CircleCheck, CircleDashed, CircleX, Hourglass, type LucideIcon, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { Breakable } from './breakable.tsx';
import { tiles } from './tiles.ts';

type AttentionTone = 'negative' | 'waiting' | 'warning';

interface AttentionEntry {
  /** Unique. */
  readonly key: string;
  readonly tone: AttentionTone;
  readonly title: string;
  readonly text: string;
  readonly when: ReactNode;
  /** Absent if no page mends it. */
  readonly to: string | undefined;
}

interface AttentionListProps {
  readonly sentence: string;
  readonly entries: readonly AttentionEntry[];
  /** How many are left out. */
  readonly more: number;
}

export function AttentionList({ sentence, entries, more }: AttentionListProps) {
  return (
    <section aria-labelledby="attention" className="@container rounded-lg border bg-surface">
      <div className="flex flex-wrap items-baseline gap-x-4 gap-y-1 px-4 pt-4 pb-3 sm:px-5">
        <h2 id="attention" className="text-lg font-bold">
          Needs attention
        </h2>
        <p className="text-sm text-ink-soft">{sentence}</p>
      </div>
      <ul className={`${tiles} @4xl:grid-cols-2 @[110rem]:grid-cols-4 [&>li:only-child]:col-span-full`}>
        {entries.map((entry) => (
          <Item key={entry.key} entry={entry} />
        ))}
        {more > 0 && <li className="px-4 py-3 text-sm text-ink-soft sm:px-5">{`And ${more} more.`}</li>}
      </ul>
    </section>
  );
}

export function CalmLine({ sentence, isServing }: { readonly sentence: string; readonly isServing: boolean }) {
  const Icon = isServing ? CircleCheck : CircleDashed;
  return (
    <p className="flex items-center gap-2.5 text-base text-ink-soft">
      <Icon aria-hidden="true" className={isServing ? 'size-5 shrink-0 text-ok' : 'size-5 shrink-0 text-ink-faint'} />
      {sentence}
    </p>
  );
}

const marks: Readonly<Record<AttentionTone, { readonly icon: LucideIcon; readonly className: string; readonly word: string }>> = {
  negative: { icon: CircleX, className: 'text-danger', word: 'Failing' },
  waiting: { icon: Hourglass, className: 'text-info', word: 'Waiting' },
  warning: { icon: TriangleAlert, className: 'text-warn', word: 'Warning' },
};

function Item({ entry: { tone, title, text, when, to } }: { readonly entry: AttentionEntry }) {
  const { icon: Icon, className, word } = marks[tone];
  return (
    <li className="group relative flex items-start gap-3 px-4 py-3 transition-colors has-[a]:hover:bg-hover sm:px-5">
      <Icon aria-label={word} role="img" className={`mt-0.5 size-5 shrink-0 ${className}`} />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-baseline justify-between gap-x-4">
          {to === undefined ? <Title title={title} /> : <TitleLink title={title} to={to} />}
          {when}
        </div>
        <p className="text-sm text-ink-soft wrap-anywhere">{text}</p>
      </div>
      {to !== undefined && (
        <ChevronRight aria-hidden="true" className="mt-1 size-4 shrink-0 text-ink-faint group-hover:text-ink" />
      )}
    </li>
  );
}

const Title = ({ title }: { readonly title: string }) => (
  <span className="font-semibold wrap-anywhere">
    <Breakable text={title} />
  </span>
);

const TitleLink = ({ title, to }: { readonly title: string; readonly to: string }) => (
  <Link
    to={to}
    className="font-semibold wrap-anywhere after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-focus"
  >
    <Breakable text={title} />
  </Link>
);
