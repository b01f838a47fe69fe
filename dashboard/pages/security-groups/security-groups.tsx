// The allow-lists of a project (spec 2, Security groups list).
import { securityGroupCalls } from '@underpass/rules/api/security-group-calls.ts';
import type { SecurityGroup } from '@underpass/rules/entity.ts';
import { may } from '@underpass/rules/permission.ts';
import { text } from '@underpass/rules/text.ts';
import { Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { callApi } from '../../api/request.ts';
import { useProject } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { DateTime } from '../../ui/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NoSecurityGroupsIllustration } from '../../ui/illustrations/no-security-groups.tsx';
import { Load } from '../../ui/load.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { NewSecurityGroupPanel } from './new-security-group-panel.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  return {
    groups: later(callApi(securityGroupCalls.listSecurityGroups, { project: params.projectID! }, { signal: request.signal })),
  };
}

export function Component() {
  const { groups } = useLoaderData<typeof loader>();
  const project = useProject();
  const [adding, setAdding] = useState(false);
  const add = may(project.role, 'security-group.create') && (
    <Button variant="primary" icon={<Plus aria-hidden="true" />} onClick={() => setAdding(true)}>
      {text.groups.add}
    </Button>
  );
  return (
    <>
      <PageHeader title="Security Groups" subtitle="Lists of addresses that can reach your tunnels." actions={add} />
      <Load promise={groups}>{(loaded) => <GroupList groups={loaded} add={add} />}</Load>
      <NewSecurityGroupPanel open={adding} onOpenChange={setAdding} />
    </>
  );
}

function GroupList({ groups, add }: { readonly groups: readonly SecurityGroup[]; readonly add: ReactNode }) {
  if (groups.length === 0) {
    return (
      <EmptyState
        title={text.groups.emptyTitle}
        text={text.groups.empty}
        action={add}
        illustration={<NoSecurityGroupsIllustration />}
      />
    );
  }
  return (
    <DataTable
      label="Security groups"
      columns={columns}
      rows={groups}
      rowKey={(group) => group.name}
      rowTo={(group) => encodeURIComponent(group.name)}
      searchText={(group) => `${group.name} ${group.allowList?.join(' ') ?? ''}`}
      noun="security groups"
      initialSort={{ key: 'name', direction: 'ascending' }}
    />
  );
}

const ruleCount = (group: SecurityGroup) => group.allowList?.length ?? 0;

const columns: readonly Column<SecurityGroup>[] = [
  { key: 'name', header: 'Name', width: 'minmax(0, 1.4fr)', cell: (group) => group.name, sortBy: (group) => group.name },
  {
    key: 'updated',
    header: 'Last Updated',
    width: 'minmax(0, 1.6fr)',
    cell: (group) => <DateTime at={group.updatedAt} />,
    sortBy: (group) => group.updatedAt,
  },
  {
    key: 'assigned',
    header: 'Assigned',
    width: '7rem',
    cell: (group) => <span className="tabular">{group.assignmentCount}</span>,
    sortBy: (group) => group.assignmentCount,
  },
  {
    key: 'rules',
    header: 'Rules',
    width: '7rem',
    cell: (group) => <span className="tabular">{ruleCount(group)}</span>,
    sortBy: ruleCount,
  },
];
