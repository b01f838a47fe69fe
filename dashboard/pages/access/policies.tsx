// The access policies of a project.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import { accessPolicyList } from '@underpass/rules/list/list-page.ts';
import { may } from '@underpass/rules/people/permission.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { admitsNobody, describeVisitors, isOpen } from '@underpass/rules/visit/describe.ts';
import { useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { loadPage } from '../../api/load-page.ts';
import { PagedList } from '../../list/paged-list.tsx';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { AddButton } from '../../ui/add-button.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { ButtonLink } from '../../ui/button-link.tsx';
import { DateTime, dateWidth } from '../../ui/date/date-time.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { NewPolicyPanel } from './new-policy-panel.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  return { page: loadPage(request, accessCalls.listAccessPolicies, accessPolicyList, { project: params.projectID! }) };
}

export function Component() {
  const { page } = useLoaderData<typeof loader>();
  const project = useProject();
  const [adding, setAdding] = useState(false);
  const add = may(project.role, 'access-policy.create') && (
    <AddButton onClick={() => setAdding(true)}>Add Access Policy</AddButton>
  );
  const log = may(project.role, 'access-sign-in.read') && (
    <ButtonLink to={paths.accessSignIns(project.id)}>Sign-in log</ButtonLink>
  );
  return (
    <>
      <PageHeader
        wide
        title="Access"
        subtitle="Who may visit your http tunnels."
        actions={
          <>
            {log}
            {add}
          </>
        }
      />
      <PagedList
        promise={page}
        empty={
          <NothingHere
            title="No Access Policies"
            text="An access policy says who may visit an http tunnel: people who sign in, programs with a token, or everyone on some paths. Without a policy, everyone that the security group allows can visit."
            action={add}
          />
        }
        label="Access policies"
        columns={columns}
        rules={accessPolicyList}
        rowKey={({ name }) => name}
        rowTo={({ name }) => paths.accessPolicy(project.id, name)}
        noun="access policies"
      />
      <NewPolicyPanel open={adding} onOpenChange={setAdding} />
    </>
  );
}

const columns: readonly Column<AccessPolicy>[] = [
  { key: 'name', header: 'Name', width: 'minmax(0, 1.2fr)', cell: ({ name }) => name },
  {
    key: 'visitors',
    header: 'Who May Visit',
    width: 'minmax(0, 1.8fr)',
    card: 'wide',
    cell: (policy) => <Visitors policy={policy} />,
  },
  {
    key: 'tunnels',
    header: 'Tunnels',
    width: 'minmax(0, 1fr)',
    cell: ({ tunnels }) =>
      tunnels.length === 0 ? <span className="text-ink-faint">None</span> : <Breakable text={shortList(tunnels)} />,
  },
  {
    key: 'updated',
    header: 'Last Updated',
    width: dateWidth,
    cell: ({ updatedAt }) => <DateTime at={updatedAt} style="short" />,
  },
];

/** Names beyond these are counted. */
const shownNames = 2;

const shortList = (names: readonly string[]): string =>
  names.length <= shownNames + 1
    ? names.join(', ')
    : `${names.slice(0, shownNames).join(', ')} and ${names.length - shownNames} more`;

function Visitors({ policy }: { readonly policy: AccessPolicy }) {
  const warns = isOpen(policy) || admitsNobody(policy);
  return <span className={warns ? 'font-semibold text-warn' : undefined}>{describeVisitors(policy)}</span>;
}
