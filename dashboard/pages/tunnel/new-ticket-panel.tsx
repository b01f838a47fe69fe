// Creates a ticket of a private tunnel.
import type { AnswerOf } from '@underpass/rules/api/call.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { callApi } from '../../api/request.ts';
import { useProject } from '../../session/session.ts';
import { SidePanel } from '../../ui/overlay/side-panel.tsx';
import { NamedSecretForm } from '../access/named-secret-form.tsx';

interface NewTicketPanelProps {
  readonly tunnel: string;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly onCreated: (ticket: AnswerOf<typeof tunnelCalls.createReachTicket>) => void;
}

export function NewTicketPanel({ tunnel, open, onOpenChange, onCreated }: NewTicketPanelProps) {
  const project = useProject();
  return (
    <SidePanel open={open} onOpenChange={onOpenChange} title="Create ticket" description="It is shown only once.">
      <NamedSecretForm
        days="30"
        hint="Who gets the ticket, such as ‘Ann’s laptop’."
        failureTitle="The ticket was not created."
        send={async (payload) =>
          onCreated(await callApi(tunnelCalls.createReachTicket, { project: project.id, name: tunnel, payload }))
        }
        onCancel={() => onOpenChange(false)}
      />
    </SidePanel>
  );
}
