// A private tunnel: how members reach it, and the tickets for everybody else.

import type { AnswerOf } from '@underpass/rules/api/call.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { quoteShellWord } from '@underpass/rules/connect/shell-word.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { ReachTicket } from '@underpass/rules/entity/resource.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { askFor } from '../../api/answers.ts';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useProject } from '../../session/session.ts';
import { AddButton } from '../../ui/add-button.tsx';
import { Card } from '../../ui/card.tsx';
import { CommandLine } from '../../ui/code/command-line.tsx';
import { SecretDialog } from '../../ui/overlay/secret-dialog.tsx';
import { dateColumn, nameColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { RevocableCard, useCreated } from '../access/revocable-card.tsx';
import { NewTicketPanel } from './new-ticket-panel.tsx';

type NewTicket = AnswerOf<typeof tunnelCalls.createReachTicket>;

const columns: readonly Column<ReachTicket>[] = [
  nameColumn('Name', 'minmax(0, 1.2fr)'),
  dateColumn('used', 'Last used', ({ usedAt }) => usedAt, 'first'),
  dateColumn('expires', 'Expires', ({ expiresAt }) => expiresAt, 'last'),
];

export function Reach({ tunnel: { name } }: { readonly tunnel: Tunnel }) {
  const project = useProject();
  const tickets = useFetched(askFor(tunnelCalls.listReachTickets, { project: project.id, name }));
  const { panel, created, forget } = useCreated<NewTicket>(tickets);
  const readOnly = !may(project.role, 'tunnel.update');
  const create = !readOnly && (
    <AddButton size="sm" onClick={() => panel.onOpenChange(true)}>
      Create ticket
    </AddButton>
  );
  return (
    <>
      <Card title="Private" description="No public port. Members reach it with this command, at a port of their machine.">
        <CommandLine
          command={`underpass reach ${quoteShellWord(`${project.name}/${name}`)} --listen 127.0.0.1:5432`}
          what="the reach command"
        />
      </Card>
      <RevocableCard
        title="Tickets"
        description="For people and programs without a sign-in here. One that underpass tickets makes beside the client also carries its key."
        actions={create}
        emptyText="No tickets."
        fetched={tickets}
        readOnly={readOnly}
        columns={columns}
        searchText={({ name: ticket, createdBy }) => `${ticket} ${createdBy}`}
        noun="tickets"
        initialSort={{ key: 'name', direction: 'ascending' }}
        revoking={({ name: ticket, id }) => ({
          title: 'Revoke Ticket',
          warning: `Connections that ${ticket} opened end within seconds.`,
          revoke: () => callApi(tunnelCalls.deleteReachTicket, { project: project.id, name, id }),
        })}
      >
        <NewTicketPanel tunnel={name} {...panel} />
        <SecretDialog title="Your new ticket" label="Ticket" secret={created?.ticket} onClose={forget}>
          <p className="text-sm font-semibold">With the ticket in a file</p>
          <CommandLine command="underpass reach --ticket-file ticket --listen 127.0.0.1:5432" what="the reach command" />
        </SecretDialog>
      </RevocableCard>
    </>
  );
}
