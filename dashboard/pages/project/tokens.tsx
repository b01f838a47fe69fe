// The API tokens of a project.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import type { ApiToken, NewApiToken } from '@underpass/rules/entity/resource.ts';
import { may, roleLabels } from '@underpass/rules/people/permission.ts';
import { type ReactNode, useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { askColumn, type RowQuestion } from '../../form/ask-column.tsx';
import { type Confirm, useConfirm } from '../../form/use-confirm.tsx';
import { newTokenParam } from '../../routing/paths.ts';
import { useLinkedPanel } from '../../routing/use-linked-panel.ts';
import { MayNot } from '../../session/may-not.tsx';
import { useProject } from '../../session/session.ts';
import { AddButton } from '../../ui/add-button.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { SecretDialog } from '../../ui/overlay/secret-dialog.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { badgeColumn, dateColumn, nameColumn, textColumn } from '../../ui/table/columns.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { NewApiTokenPanel } from './new-token-panel.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  return { tokens: later(callApi(projectCalls.listApiTokens, { project: params.projectID! }, { signal: request.signal })) };
}

export function Component() {
  const { tokens } = useLoaderData<typeof loader>();
  const project = useProject();
  const { isOpen, setOpen } = useLinkedPanel(newTokenParam);
  const [created, setCreated] = useState<NewApiToken>();
  const showCreated = (token: NewApiToken) => {
    setOpen(false);
    setCreated(token);
  };
  const confirm = useConfirm();
  const mayCreate = may(project.role, 'api-token.create');
  const add = mayCreate && <AddButton onClick={() => setOpen(true)}>Create token</AddButton>;
  return (
    <>
      <PageHeader wide title="API tokens" subtitle="For scripts and pipelines that manage this project." actions={add} />
      {!mayCreate && isOpen && <MayNot action="api-token.create" />}
      <Load promise={tokens}>{(loaded) => <TokenList projectId={project.id} tokens={loaded} add={add} ask={confirm.ask} />}</Load>
      {mayCreate && <NewApiTokenPanel project={project} open={isOpen} onOpenChange={setOpen} onCreated={showCreated} />}
      <SecretDialog
        title="Your new API token"
        label="API token"
        secret={created?.token}
        hint="Set it as UNDERPASS_API_TOKEN for the CLI. Other programs send it in the header Authorization: Bearer …"
        onClose={() => setCreated(undefined)}
      />
      {confirm.dialog}
    </>
  );
}

interface TokenListProps {
  readonly projectId: string;
  readonly tokens: readonly ApiToken[];
  readonly add: ReactNode;
  readonly ask: Confirm['ask'];
}

function TokenList({ projectId, tokens, add, ask }: TokenListProps) {
  if (tokens.length === 0) {
    return (
      <NothingHere
        title="No API Tokens"
        text="Create a token to let a script act for you in this project, with the role you choose."
        action={add}
      />
    );
  }
  return (
    <DataTable
      label="API tokens"
      wide
      columns={columnsOf(projectId, ask)}
      rows={tokens}
      rowKey={(token) => token.id}
      searchText={({ name, createdBy, role }) => `${name} ${createdBy} ${role}`}
      noun="tokens"
      initialSort={{ key: 'name', direction: 'ascending' }}
    />
  );
}

function columnsOf(projectId: string, ask: Confirm['ask']): readonly Column<ApiToken>[] {
  return [
    nameColumn('Name', 'minmax(0, 1.4fr)'),
    { ...badgeColumn('role', 'Role', '6.5rem', ({ role }) => [roleLabels[role]]), sortBy: ({ role }) => role },
    textColumn('by', 'Created by', 'minmax(0, 1.2fr)', ({ createdBy }) => createdBy),
    dateColumn('used', 'Last used', ({ usedAt }) => usedAt, 'first'),
    dateColumn('expires', 'Expires', ({ expiresAt }) => expiresAt, 'last'),
    askColumn(ask, 'Revoke', '6rem', (token) => revocationOf(projectId, token)),
  ];
}

const revocationOf = (project: string, { id, name }: ApiToken): RowQuestion => ({
  of: `Revoke ${name}`,
  title: 'Revoke API Token',
  warning: `Programs that use ${name} stop working immediately. This operation is permanent.`,
  confirmLabel: 'Revoke',
  work: () => callApi(projectCalls.deleteApiToken, { project, id }),
  done: `${name} revoked.`,
});
