// Creates a ticket of a private tunnel.
import type { AnswerOf, PayloadOf } from '@underpass/rules/api/call.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { accept, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseApiTokenName } from '@underpass/rules/text/project-name.ts';
import { callApi } from '../../api/request.ts';
import { PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { useProject } from '../../session/session.ts';
import { Field } from '../../ui/input/field.tsx';
import { Select } from '../../ui/input/select.tsx';
import { SidePanel } from '../../ui/overlay/side-panel.tsx';
import { numberOf, tokenDays } from '../access/expiry-choice.ts';

interface NewTicketPanelProps {
  readonly tunnel: string;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly onCreated: (ticket: AnswerOf<typeof tunnelCalls.createReachTicket>) => void;
}

export function NewTicketPanel({ open, onOpenChange, ...form }: NewTicketPanelProps) {
  return (
    <SidePanel open={open} onOpenChange={onOpenChange} title="Create ticket" description="It is shown only once.">
      <TicketForm {...form} onCancel={() => onOpenChange(false)} />
    </SidePanel>
  );
}

interface TicketValues {
  readonly name: string;
  readonly days: string;
}

type TicketRequest = PayloadOf<typeof tunnelCalls.createReachTicket>;

function parseTicket({ name, days }: TicketValues): ParsedForm<TicketRequest, 'name'> {
  const parsed = parseApiTokenName(name);
  if (!parsed.ok) return { ok: false, errors: { name: parsed.message } };
  return accept({ name: parsed.value, expiresInDays: numberOf(days) });
}

interface TicketFormProps extends Pick<NewTicketPanelProps, 'tunnel' | 'onCreated'> {
  readonly onCancel: () => void;
}

function TicketForm({ tunnel, onCreated, onCancel }: TicketFormProps) {
  const project = useProject();
  const form = useForm<TicketValues, TicketRequest>({
    initial: { name: '', days: '30' },
    parse: parseTicket,
    send: async (payload) =>
      onCreated(await callApi(tunnelCalls.createReachTicket, { project: project.id, name: tunnel, payload })),
  });
  return (
    <PanelForm form={form} submitLabel="Create" onCancel={onCancel} failureTitle="The ticket was not created.">
      <TextField form={form} name="name" label="Name" hint="Who gets the ticket, such as ‘Ann’s laptop’." autoComplete="off" />
      <Field label="Expires after">
        {(control) => (
          <Select {...control} value={form.values.days} options={tokenDays} onChange={(days) => form.set('days', days)} />
        )}
      </Field>
    </PanelForm>
  );
}
