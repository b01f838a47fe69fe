// The machine tokens of a policy: created, shown once, revoked.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AnswerOf } from '@underpass/rules/api/call.ts';
import { quoteShellWord } from '@underpass/rules/connect/shell-word.ts';
import type { AccessPolicy, AccessToken } from '@underpass/rules/visit/access-policy.ts';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { askFor } from '../../api/answers.ts';
import { FetchedRows } from '../../api/fetched-rows.tsx';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useConfirm } from '../../form/use-confirm.tsx';
import { useProject } from '../../session/session.ts';
import { Breakable } from '../../ui/breakable.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { CommandLine } from '../../ui/command-line.tsx';
import { SecretDialog } from '../../ui/overlay/secret-dialog.tsx';
import { buttonColumn, dateColumn } from '../../ui/table/columns.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { useLast } from '../../ui/use-last.ts';
import { useFirstAddress } from './first-address.ts';
import { NewMachineTokenPanel } from './new-token-panel.tsx';
import { type PolicyTableProps, RevokeButton } from './revoke-button.tsx';

type NewToken = AnswerOf<typeof accessCalls.createAccessToken>;

export interface PolicyTabProps {
  readonly policy: AccessPolicy;
  readonly readOnly: boolean;
}

export function Tokens({ policy, readOnly }: PolicyTabProps) {
  const project = useProject();
  const { revalidate } = useRevalidator();
  const { name } = policy;
  const [open, setOpen] = useState(false);
  const [created, setCreated] = useState<NewToken>();
  const confirm = useConfirm();
  const tokens = useFetched(askFor(accessCalls.listAccessTokens, { project: project.id, name }));
  const showCreated = (token: NewToken) => {
    setOpen(false);
    setCreated(token);
    tokens.reload();
    revalidate();
  };
  const create = !readOnly && (
    <Button size="sm" icon={<Plus aria-hidden="true" />} onClick={() => setOpen(true)}>
      Create token
    </Button>
  );
  return (
    <Card
      title="Machine tokens"
      description="For programs, which cannot sign in. We store only a hash of each token."
      actions={create}
      flush
    >
      <div className="border-t">
        <FetchedRows fetched={tokens} what="machine tokens" emptyText="No machine tokens.">
          {(rows) => <TokenTable policy={name} rows={rows} readOnly={readOnly} ask={confirm.ask} reload={tokens.reload} />}
        </FetchedRows>
      </div>
      <NewMachineTokenPanel policy={name} open={open} onOpenChange={setOpen} onCreated={showCreated} />
      <NewTokenDialog policy={policy} token={created?.token} onClose={() => setCreated(undefined)} />
      {confirm.dialog}
    </Card>
  );
}

function TokenTable({ rows, ...rest }: PolicyTableProps<AccessToken>) {
  return (
    <DataTable
      label="Machine tokens"
      bare
      columns={columnsOf(rest)}
      rows={rows}
      rowKey={({ id }) => id}
      searchText={({ name, createdBy }) => `${name} ${createdBy}`}
      noun="tokens"
      initialSort={{ key: 'name', direction: 'ascending' }}
    />
  );
}

function columnsOf({ readOnly, ...rest }: Omit<PolicyTableProps<AccessToken>, 'rows'>): readonly Column<AccessToken>[] {
  return [
    {
      key: 'name',
      header: 'Name',
      width: 'minmax(0, 1.2fr)',
      cell: ({ name }) => <span className="font-semibold">{name}</span>,
      sortBy: ({ name }) => name,
    },
    {
      key: 'by',
      header: 'Created by',
      width: 'minmax(0, 1.2fr)',
      cell: ({ createdBy }) => <Breakable text={createdBy} />,
      sortBy: ({ createdBy }) => createdBy,
    },
    dateColumn('created', 'Created', ({ createdAt }) => createdAt),
    dateColumn('expires', 'Expires', ({ expiresAt }) => expiresAt, 'last'),
    ...(readOnly ? [] : [buttonColumn<AccessToken>('Revoke', '6rem', (token) => <RevokeToken token={token} {...rest} />)]),
  ];
}

function RevokeToken({
  token,
  policy,
  ...rest
}: Omit<PolicyTableProps<AccessToken>, 'rows' | 'readOnly'> & { readonly token: AccessToken }) {
  const project = useProject();
  return (
    <RevokeButton
      name={token.name}
      title="Revoke Machine Token"
      warning={`Programs that use ${token.name} are refused within seconds.`}
      revoke={() => callApi(accessCalls.deleteAccessToken, { project: project.id, name: policy, id: token.id })}
      {...rest}
    />
  );
}

interface NewTokenDialogProps {
  readonly policy: AccessPolicy;
  readonly token: string | undefined;
  readonly onClose: () => void;
}

function NewTokenDialog({ policy: { tokenHeader, tunnels }, token, onClose }: NewTokenDialogProps) {
  const address = useFirstAddress(tunnels) ?? 'https://app.example.com';
  // While the dialog fades out, the page's state no longer has the token.
  const shown = useLast(token);
  const value = tokenHeader === 'authorization' ? `Bearer ${shown}` : shown;
  return (
    <SecretDialog title="Your new machine token" label="Machine token" secret={token} onClose={onClose}>
      <p className="text-sm font-semibold">Example</p>
      <CommandLine command={`curl -H "${tokenHeader}: ${value}" ${quoteShellWord(address)}`} what="the curl command" />
    </SecretDialog>
  );
}
