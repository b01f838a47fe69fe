// What in the project needs attention, each with the way to the place where it is mended.
import type { Overview } from '@underpass/rules/entity/resource.ts';
import { type AttentionItem, attentionKinds, describeAttention, describeConditions } from '@underpass/rules/tunnel/attention.ts';
import { placeOf } from '../../routing/attention-place.ts';
import { useProject } from '../../session/session.ts';
import { AttentionList, CalmLine } from '../../ui/attention-list.tsx';
import { TimeAgo, TimeLeft } from '../../ui/date/date-time.tsx';

export function AttentionCard({ overview }: { readonly overview: Pick<Overview, 'attention' | 'moreAttention' | 'conditions'> }) {
  const { attention, moreAttention, conditions } = overview;
  const project = useProject();
  const sentence = describeConditions(conditions);
  if (attention.length === 0) return <CalmLine sentence={sentence} isServing={conditions.working > 0} />;
  const entries = attention.map((item) => ({
    ...describeAttention(item),
    key: keyOf(item),
    tone: attentionKinds[item.kind].tone,
    when: <When item={item} />,
    to: placeOf(item, project),
  }));
  return <AttentionList sentence={sentence} entries={entries} more={moreAttention} />;
}

const keyOf = ({ kind, tunnel, domain, tokenName, region, quota }: AttentionItem): string =>
  [kind, tunnel, domain, tokenName, region, quota].join(' ');

function When({ item: { since, until } }: { readonly item: AttentionItem }) {
  if (until !== undefined) return <TimeLeft at={until} className="text-sm whitespace-nowrap text-ink-faint" />;
  return since === undefined ? null : <TimeAgo at={since} className="text-sm whitespace-nowrap text-ink-faint" />;
}
