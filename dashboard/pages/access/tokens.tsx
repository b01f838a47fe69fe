// The machine tokens of a policy: created, shown once, revoked.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AnswerOf } from '@underpass/rules/api/call.ts';
import { quoteShellWord } from '@underpass/rules/connect/shell-word.ts';
import type { AccessPolicy, AccessToken } from '@underpass/rules/visit/access-policy.ts';
import { askFor } from '../../api/answers.ts';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useProject } from '../../session/session.ts';
import { AddButton } from '../../ui/add-button.tsx';
import { CommandLine } from '../../ui/code/command-line.tsx';
import { SecretDialog } from '../../ui/overlay/secret-dialog.tsx';
import { dateColumn, nameColumn, textColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { useLast } from '../../ui/use-last.ts';
import { useFirstAddress } from './first-address.ts';
import { NewMachineTokenPanel } from './new-token-panel.tsx';
import { RevocableCard, useCreated } from './revocable-card.tsx';

type NewToken = AnswerOf<typeof accessCalls.createAccessToken>;

export interface PolicyTabProps {
  readonly policy: AccessPolicy;
  readonly readOnly: boolean;
}

const columns: readonly Column<AccessToken>[] = [
  nameColumn('Name', 'minmax(0, 1.2fr)'),
  textColumn('by', 'Created by', 'minmax(0, 1.2fr)', ({ createdBy }) => createdBy),
  dateColumn('created', 'Created', ({ createdAt }) => createdAt),
  dateColumn('expires', 'Expires', ({ expiresAt }) => expiresAt, 'last'),
];

export function Tokens({ policy, readOnly }: PolicyTabProps) {
  const project = useProject().id;
  const tokens = useFetched(askFor(accessCalls.listAccessTokens, { project, name: policy.name }));
  const { panel, created, forget } = useCreated<NewToken>(tokens);
  const create = !readOnly && (
    <AddButton size="sm" onClick={() => panel.onOpenChange(true)}>
      Create token
    </AddButton>
  );
  return (
    <RevocableCard
      title="Machine tokens"
      description="For programs, which cannot sign in. We store only a hash of each token."
      actions={create}
      emptyText="No machine tokens."
      fetched={tokens}
      readOnly={readOnly}
      columns={columns}
      searchText={({ name, createdBy }) => `${name} ${createdBy}`}
      noun="tokens"
      initialSort={{ key: 'name', direction: 'ascending' }}
      revoking={({ name, id }) => ({
        title: 'Revoke Machine Token',
        warning: `Programs that use ${name} are refused within seconds.`,
        revoke: () => callApi(accessCalls.deleteAccessToken, { project, name: policy.name, id }),
      })}
    >
      <NewMachineTokenPanel policy={policy.name} {...panel} />
      <NewTokenDialog policy={policy} token={created?.token} onClose={forget} />
    </RevocableCard>
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
