// The programs that visitors allowed to act for them under a policy.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AccessProgram } from '@underpass/rules/visit/access-policy.ts';
import { methodLabels } from '@underpass/rules/visit/words.ts';
import { askFor } from '../../api/answers.ts';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useProject } from '../../session/session.ts';
import { Breakable } from '../../ui/breakable.tsx';
import { dateColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { TwoLines } from '../../ui/table/two-lines.tsx';
import { RevocableCard } from './revocable-card.tsx';
import type { PolicyTabProps } from './tokens.tsx';

const whoOf = ({ who, method }: AccessProgram): string => who || methodLabels[method];

const columns: readonly Column<AccessProgram>[] = [
  {
    key: 'name',
    header: 'Program',
    width: 'minmax(0, 1fr)',
    cell: ({ name, site }) => (
      <TwoLines isTitle second={site}>
        {name}
      </TwoLines>
    ),
    sortBy: ({ name }) => name,
  },
  {
    key: 'who',
    header: 'For',
    width: 'minmax(0, 1.2fr)',
    cell: (program) => (
      <TwoLines second={<Breakable text={program.host} />}>
        <Breakable text={whoOf(program)} />
      </TwoLines>
    ),
    sortBy: whoOf,
  },
  dateColumn('connected', 'Allowed', ({ connectedAt }) => connectedAt),
  dateColumn('ends', 'Ends', ({ endsAt }) => endsAt),
];

export function Programs({ policy: { name: policy }, readOnly }: PolicyTabProps) {
  const project = useProject().id;
  return (
    <RevocableCard
      title="Programs"
      description="Visitors allowed them to act in their name, such as MCP clients. Their access ends with the visitor's sign-in."
      emptyText="No programs."
      fetched={useFetched(askFor(accessCalls.listAccessPrograms, { project, name: policy }))}
      readOnly={readOnly}
      columns={columns}
      searchText={({ name, site, who, host }) => `${name} ${site ?? ''} ${who} ${host}`}
      noun="programs"
      initialSort={{ key: 'connected', direction: 'descending' }}
      revoking={({ name, who, id }) => ({
        title: 'Revoke Program',
        warning: `${name} can no longer act for ${who || 'its visitor'}, within seconds. It may ask the visitor again.`,
        revoke: () => callApi(accessCalls.deleteAccessProgram, { project, name: policy, id }),
      })}
    />
  );
}
