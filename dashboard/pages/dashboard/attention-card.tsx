// What needs attention, each with the way to the place where it is mended; one quiet line if nothing does.
import type { Overview } from '@underpass/rules/entity/resource.ts';
import {
  type AttentionItem,
  type AttentionKind,
  attentionKinds,
  describeAttention,
  describeConditions,
} from '@underpass/rules/tunnel/attention.ts';
import { ChevronRight, CircleCheck, CircleDashed, CircleX, Hourglass, type LucideIcon, TriangleAlert } from 'lucide-react';
import { Link } from 'react-router';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Breakable } from '../../ui/breakable.tsx';
import { TimeAgo, TimeLeft } from '../../ui/date-time.tsx';
import { tiles } from './tiles.ts';

export function AttentionCard({ overview }: { readonly overview: Pick<Overview, 'attention' | 'moreAttention' | 'conditions'> }) {
  const { attention, moreAttention, conditions } = overview;
  const sentence = describeConditions(conditions);
  if (attention.length === 0) return <CalmLine sentence={sentence} isServing={conditions.working > 0} />;
  return (
    <section aria-labelledby="attention" className="@container rounded-lg border bg-surface">
      <div className="flex flex-wrap items-baseline gap-x-4 gap-y-1 px-4 pt-4 pb-3 sm:px-5">
        <h2 id="attention" className="text-lg font-bold">
          Needs attention
        </h2>
        <p className="text-sm text-ink-soft">{sentence}</p>
      </div>
      <ul className={`${tiles} @4xl:grid-cols-2 @[110rem]:grid-cols-4`}>
        {attention.map((item) => (
          <Item key={keyOf(item)} item={item} />
        ))}
        {moreAttention > 0 && <li className="px-4 py-3 text-sm text-ink-soft sm:px-5">{`And ${moreAttention} more.`}</li>}
      </ul>
    </section>
  );
}

function CalmLine({ sentence, isServing }: { readonly sentence: string; readonly isServing: boolean }) {
  const Icon = isServing ? CircleCheck : CircleDashed;
  return (
    <p className="flex items-center gap-2.5 text-base text-ink-soft">
      <Icon aria-hidden="true" className={isServing ? 'size-5 shrink-0 text-ok' : 'size-5 shrink-0 text-ink-faint'} />
      {sentence}
    </p>
  );
}

const keyOf = ({ kind, tunnel, domain, tokenName }: AttentionItem): string => [kind, tunnel, domain, tokenName].join(' ');

type Tone = (typeof attentionKinds)[AttentionKind]['tone'];

const marks: Readonly<Record<Tone, { readonly icon: LucideIcon; readonly className: string; readonly word: string }>> = {
  negative: { icon: CircleX, className: 'text-danger', word: 'Failing' },
  waiting: { icon: Hourglass, className: 'text-info', word: 'Waiting' },
  warning: { icon: TriangleAlert, className: 'text-warn', word: 'Warning' },
};

function Item({ item }: { readonly item: AttentionItem }) {
  const { icon: Icon, className, word } = marks[attentionKinds[item.kind].tone];
  const project = useProject();
  const { title, text } = describeAttention(item);
  return (
    <li className="group relative flex items-start gap-3 px-4 py-3 transition-colors hover:bg-hover sm:px-5">
      <Icon aria-label={word} role="img" className={`mt-0.5 size-5 shrink-0 ${className}`} />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-baseline justify-between gap-x-4">
          <Link
            to={placeOf(item, project.id)}
            className="font-semibold wrap-anywhere after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-focus"
          >
            <Breakable text={title} />
          </Link>
          <When item={item} />
        </div>
        <p className="text-sm text-ink-soft wrap-anywhere">{text}</p>
      </div>
      <ChevronRight aria-hidden="true" className="mt-1 size-4 shrink-0 text-ink-faint group-hover:text-ink" />
    </li>
  );
}

function When({ item: { since, until } }: { readonly item: AttentionItem }) {
  if (until !== undefined) return <TimeLeft at={until} className="text-sm whitespace-nowrap text-ink-faint" />;
  return since === undefined ? null : <TimeAgo at={since} className="text-sm whitespace-nowrap text-ink-faint" />;
}

/** Where it is mended. */
function placeOf({ kind, tunnel = '', domain = '' }: AttentionItem, project: string): string {
  switch (kind) {
    case 'domain-unverified':
    case 'domain-losing':
      return paths.domain(project, domain);
    case 'token-ending':
      return paths.tokens(project);
    case 'tunnel-down':
    case 'upstream-failing':
    case 'tunnel-suspended':
    case 'certificate-missing':
    case 'certificate-ending':
    case 'domain-blocked':
    case 'client-refused':
      return paths.tunnel(project, tunnel);
  }
}
