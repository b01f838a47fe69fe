// Adds one subscription by hand.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import { accept, acceptFields, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import { useRevalidator } from 'react-router';
import { callApi } from '../../api/request.ts';
import { DialogForm, formDialog, type InOverlay } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { toast } from '../../ui/overlay/toast.tsx';

export const NewSubscriptionDialog = formDialog({ title: 'Add Subscription' }, SubscriptionForm);

interface NewSubscription {
  readonly email: string;
  readonly expiresAt: string | undefined;
}

function parseFields({ email, ends }: Readonly<Record<'email' | 'ends', string>>): ParsedForm<NewSubscription, 'email'> {
  // The last day counts as a whole.
  const expiresAt = ends === '' ? undefined : new Date(`${ends}T23:59:59`).toISOString();
  return acceptFields({ email: parseEmail(email), expiresAt: accept(expiresAt) });
}

function SubscriptionForm({ onDone }: InOverlay) {
  const { revalidate } = useRevalidator();
  const form = useForm({
    initial: { email: '', ends: '' },
    parse: parseFields,
    send: async ({ email, expiresAt }: NewSubscription) => {
      await callApi(operatorCalls.createSubscription, { payload: { email, expiresAt } });
      onDone();
      toast.done(`Subscription of ${email} added.`);
      await revalidate();
    },
  });
  return (
    <DialogForm form={form} submitLabel="Add" onCancel={onDone}>
      <TextField form={form} name="email" label="Email" type="email" autoComplete="off" />
      <TextField form={form} name="ends" label="Last day" hint="Leave empty for no end." type="date" optional />
    </DialogForm>
  );
}
