// The form of a secret that has a name and an end, such as a machine token or a ticket.
import { accept, acceptFields, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseApiTokenName } from '@underpass/rules/text/project-name.ts';
import { PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { SelectField } from '../../ui/input/select-field.tsx';
import { numberOf, tokenDays } from './expiry-choice.ts';

interface Values {
  readonly name: string;
  readonly days: string;
}

interface NamedSecret {
  readonly name: string;
  readonly expiresInDays: number | undefined;
}

function parseNamedSecret({ name, days }: Values): ParsedForm<NamedSecret, 'name'> {
  return acceptFields({ name: parseApiTokenName(name), expiresInDays: accept(numberOf(days)) });
}

interface NamedSecretFormProps {
  /** The days that are chosen at first. */
  readonly days: string;
  readonly hint: string;
  readonly failureTitle: string;
  readonly send: (payload: NamedSecret) => Promise<void>;
  readonly onCancel: () => void;
}

export function NamedSecretForm({ days, hint, failureTitle, send, onCancel }: NamedSecretFormProps) {
  const form = useForm<Values, NamedSecret>({ initial: { name: '', days }, parse: parseNamedSecret, send });
  return (
    <PanelForm form={form} submitLabel="Create" onCancel={onCancel} failureTitle={failureTitle}>
      <TextField form={form} name="name" label="Name" hint={hint} autoComplete="off" />
      <SelectField
        label="Expires after"
        value={form.values.days}
        options={tokenDays}
        onChange={(chosen) => form.set('days', chosen)}
      />
    </PanelForm>
  );
}
