// The allow-lists of a project (spec 2, Security groups list).

import { securityGroupCalls } from '@underpass/rules/api/security-group-calls.ts';
import type { SecurityGroup } from '@underpass/rules/entity/entity.ts';
import { securityGroupList } from '@underpass/rules/list/list-page.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { text } from '@underpass/rules/text/text.ts';
import { useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { loadPage } from '../../api/load-page.ts';
import { PagedList } from '../../list/paged-list.tsx';
import { useProject } from '../../session/session.ts';
import { AddButton } from '../../ui/add-button.tsx';
import { DateTime } from '../../ui/date/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NoSecurityGroupsIllustration } from '../../ui/illustrations/no-security-groups.tsx';
import { lazyOverlay } from '../../ui/lazy-part.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { figureColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';

const NewSecurityGroupPanel = lazyOverlay('The form', () =>
  import('./new-security-group-panel.tsx').then(({ NewSecurityGroupPanel }) => NewSecurityGroupPanel),
);

export function loader({ params, request }: LoaderFunctionArgs) {
  const input = { project: params.projectID! };
  return { page: loadPage(request, securityGroupCalls.listSecurityGroups, securityGroupList, input) };
}

export function Component() {
  const { page } = useLoaderData<typeof loader>();
  const project = useProject();
  const [adding, setAdding] = useState(false);
  const add = may(project.role, 'security-group.create') && (
    <AddButton onClick={() => setAdding(true)}>{text.groups.add}</AddButton>
  );
  return (
    <>
      <PageHeader wide title="Security Groups" subtitle="Lists of addresses that can reach your tunnels." actions={add} />
      <PagedList
        promise={page}
        empty={
          <EmptyState
            title={text.groups.emptyTitle}
            text={text.groups.empty}
            action={add}
            illustration={<NoSecurityGroupsIllustration />}
          />
        }
        label="Security groups"
        columns={columns}
        rules={securityGroupList}
        rowKey={(group) => group.name}
        rowTo={(group) => encodeURIComponent(group.name)}
        noun="security groups"
      />
      <NewSecurityGroupPanel open={adding} onOpenChange={setAdding} />
    </>
  );
}

const columns: readonly Column<SecurityGroup>[] = [
  { key: 'name', header: 'Name', width: 'minmax(0, 1.4fr)', cell: (group) => group.name },
  {
    key: 'updated',
    header: 'Last Updated',
    width: 'minmax(0, 1.6fr)',
    card: 'wide',
    cell: (group) => <DateTime at={group.updatedAt} />,
  },
  { ...figureColumn('assigned', 'Assigned', '7rem', ({ assignmentCount }) => assignmentCount), card: 'labelled-beside' },
  { ...figureColumn('rules', 'Rules', '7rem', ({ allowList }) => allowList?.length ?? 0), card: 'labelled-beside' },
];
