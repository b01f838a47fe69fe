// Adds one subscription by hand.
import { parseEmail } from '@underpass/rules/email.ts';
import { accept, type ParsedForm } from '@underpass/rules/parsed.ts';
import { useRevalidator } from 'react-router';
import { createSubscription } from '../../api/operator.ts';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';

type SubscriptionField = 'email' | 'ends';

interface NewSubscription {
  readonly email: string;
  readonly expiresAt: string | undefined;
}

function parseFields({
  email,
  ends,
}: Readonly<Record<SubscriptionField, string>>): ParsedForm<NewSubscription, SubscriptionField> {
  const parsed = parseEmail(email);
  if (!parsed.ok) return { ok: false, errors: { email: parsed.message } };
  // The whole last day is paid for.
  return accept({ email: parsed.value, expiresAt: ends === '' ? undefined : new Date(`${ends}T23:59:59`).toISOString() });
}

const FORM_ID = 'new-subscription';

export function NewSubscriptionDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const { revalidate } = useRevalidator();
  const form = useForm<SubscriptionField, NewSubscription>({
    initial: { email: '', ends: '' },
    parse: parseFields,
    send: async ({ email, expiresAt }) => {
      await createSubscription(email, expiresAt);
      onClose();
      form.reset();
      toast.done(`The subscription of ${email} was added.`);
      await revalidate();
    },
  });
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => next || onClose()}
      title="Add Subscription"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={FORM_ID} variant="primary" busy={form.busy}>
            Add
          </Button>
        </>
      }
    >
      <form id={FORM_ID} ref={form.ref} noValidate onSubmit={form.onSubmit} className="grid gap-5">
        {form.failure && (
          <Banner tone="danger" onDismiss={form.dismissFailure}>
            {form.failure}
          </Banner>
        )}
        <TextField form={form} name="email" label="Email" type="email" autoComplete="off" />
        <TextField form={form} name="ends" label="Last day" hint="Without one it stays open." type="date" optional />
      </form>
    </Dialog>
  );
}
