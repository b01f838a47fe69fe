// The programs that visitors allowed to act for them under a policy.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AccessProgram } from '@underpass/rules/visit/access-policy.ts';
import { methodLabels } from '@underpass/rules/visit/words.ts';
import { askFor } from '../../api/answers.ts';
import { FetchedRows } from '../../api/fetched-rows.tsx';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useConfirm } from '../../form/use-confirm.tsx';
import { useProject } from '../../session/session.ts';
import { Breakable } from '../../ui/breakable.tsx';
import { Card } from '../../ui/card.tsx';
import { buttonColumn, dateColumn } from '../../ui/table/columns.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { type PolicyTableProps, RevokeButton } from './revoke-button.tsx';
import type { PolicyTabProps } from './tokens.tsx';

export function Programs({ policy: { name }, readOnly }: PolicyTabProps) {
  const project = useProject();
  const confirm = useConfirm();
  const programs = useFetched(askFor(accessCalls.listAccessPrograms, { project: project.id, name }));
  return (
    <Card
      title="Programs"
      description="Visitors allowed them to act in their name, such as MCP clients. Their access ends with the visitor's sign-in."
      flush
    >
      <div className="border-t">
        <FetchedRows fetched={programs} what="programs" emptyText="No programs.">
          {(rows) => <ProgramTable policy={name} rows={rows} readOnly={readOnly} ask={confirm.ask} reload={programs.reload} />}
        </FetchedRows>
      </div>
      {confirm.dialog}
    </Card>
  );
}

function ProgramTable({ rows, ...rest }: PolicyTableProps<AccessProgram>) {
  return (
    <DataTable
      label="Programs"
      bare
      columns={columnsOf(rest)}
      rows={rows}
      rowKey={({ id }) => id}
      searchText={({ name, site, who, host }) => `${name} ${site ?? ''} ${who} ${host}`}
      noun="programs"
      initialSort={{ key: 'connected', direction: 'descending' }}
    />
  );
}

const whoOf = ({ who, method }: AccessProgram): string => who || methodLabels[method];

function columnsOf({ readOnly, ...rest }: Omit<PolicyTableProps<AccessProgram>, 'rows'>): readonly Column<AccessProgram>[] {
  return [
    {
      key: 'name',
      header: 'Program',
      width: 'minmax(0, 1fr)',
      cell: ({ name, site }) => (
        <span className="grid">
          <span className="font-semibold">{name}</span>
          {site !== null && <span className="text-sm text-ink-soft">{site}</span>}
        </span>
      ),
      sortBy: ({ name }) => name,
    },
    {
      key: 'who',
      header: 'For',
      width: 'minmax(0, 1.2fr)',
      cell: (program) => (
        <span className="grid">
          <Breakable text={whoOf(program)} />
          <span className="text-sm text-ink-soft">
            <Breakable text={program.host} />
          </span>
        </span>
      ),
      sortBy: whoOf,
    },
    dateColumn('connected', 'Allowed', ({ connectedAt }) => connectedAt),
    dateColumn('ends', 'Ends', ({ endsAt }) => endsAt),
    ...(readOnly ? [] : [buttonColumn<AccessProgram>('Revoke', '6rem', (program) => <Revoke program={program} {...rest} />)]),
  ];
}

function Revoke({
  program,
  policy,
  ...rest
}: Omit<PolicyTableProps<AccessProgram>, 'rows' | 'readOnly'> & { readonly program: AccessProgram }) {
  const project = useProject();
  return (
    <RevokeButton
      name={program.name}
      title="Revoke Program"
      warning={`${program.name} can no longer act for ${program.who || 'its visitor'}, within seconds. It may ask the visitor again.`}
      revoke={() => callApi(accessCalls.deleteAccessProgram, { project: project.id, name: policy, id: program.id })}
      {...rest}
    />
  );
}
