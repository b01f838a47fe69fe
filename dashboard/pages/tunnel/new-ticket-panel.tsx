// Creates a ticket of a private tunnel.
import type { AnswerOf } from '@underpass/rules/api/call.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { callApi } from '../../api/request.ts';
import { formPanel, type InOverlay } from '../../form/overlay-form.tsx';
import { useProject } from '../../session/session.ts';
import { NamedSecretForm } from '../access/named-secret-form.tsx';

interface TicketFormProps extends InOverlay {
  readonly tunnel: string;
  readonly onCreated: (ticket: AnswerOf<typeof tunnelCalls.createReachTicket>) => void;
}

export const NewTicketPanel = formPanel({ title: 'Create ticket', description: 'It is shown only once.' }, TicketForm);

function TicketForm({ tunnel, onCreated, onDone }: TicketFormProps) {
  const project = useProject();
  return (
    <NamedSecretForm
      days="30"
      hint="Who gets the ticket, such as ‘Ann’s laptop’."
      failureTitle="The ticket was not created."
      send={async (payload) =>
        onCreated(await callApi(tunnelCalls.createReachTicket, { project: project.id, name: tunnel, payload }))
      }
      onCancel={onDone}
    />
  );
}
