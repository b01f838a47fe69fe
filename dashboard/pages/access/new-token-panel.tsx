// Creates a machine token.
import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AnswerOf, PayloadOf } from '@underpass/rules/api/call.ts';
import { accept, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseApiTokenName } from '@underpass/rules/text/project-name.ts';
import { callApi } from '../../api/request.ts';
import { PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { useProject } from '../../session/session.ts';
import { SelectField } from '../../ui/input/select-field.tsx';
import { SidePanel } from '../../ui/overlay/side-panel.tsx';
import { numberOf, tokenDays } from './expiry-choice.ts';

export interface NewMachineTokenPanelProps {
  readonly policy: string;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly onCreated: (token: AnswerOf<typeof accessCalls.createAccessToken>) => void;
}

export function NewMachineTokenPanel({ open, onOpenChange, ...form }: NewMachineTokenPanelProps) {
  return (
    <SidePanel open={open} onOpenChange={onOpenChange} title="Create machine token" description="It is shown only once.">
      <TokenForm {...form} onCancel={() => onOpenChange(false)} />
    </SidePanel>
  );
}

interface TokenValues {
  readonly name: string;
  readonly days: string;
}

type TokenRequest = PayloadOf<typeof accessCalls.createAccessToken>;

function parseToken({ name, days }: TokenValues): ParsedForm<TokenRequest, 'name'> {
  const parsed = parseApiTokenName(name);
  if (!parsed.ok) return { ok: false, errors: { name: parsed.message } };
  return accept({ name: parsed.value, expiresInDays: numberOf(days) });
}

interface TokenFormProps extends Pick<NewMachineTokenPanelProps, 'policy' | 'onCreated'> {
  readonly onCancel: () => void;
}

function TokenForm({ policy, onCreated, onCancel }: TokenFormProps) {
  const project = useProject();
  const form = useForm<TokenValues, TokenRequest>({
    initial: { name: '', days: '90' },
    parse: parseToken,
    send: async (payload) =>
      onCreated(await callApi(accessCalls.createAccessToken, { project: project.id, name: policy, payload })),
  });
  return (
    <PanelForm form={form} submitLabel="Create" onCancel={onCancel} failureTitle="The token was not created.">
      <TextField form={form} name="name" label="Name" hint="What uses the token, such as ‘health check’." autoComplete="off" />
      <SelectField
        label="Expires after"
        value={form.values.days}
        options={tokenDays}
        onChange={(days) => form.set('days', days)}
      />
    </PanelForm>
  );
}
