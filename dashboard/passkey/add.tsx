// The dialog that adds a passkey.
import { limits } from '@underpass/rules/limits.ts';
import { acceptField } from '@underpass/rules/parsed.ts';
import { parsePasskeyName } from '@underpass/rules/people/passkey.ts';
import { describeUserAgent } from '@underpass/rules/text/user-agent.ts';
import { loadCode } from '../code-loading/load-code.ts';
import { DialogForm, formDialog, type InOverlay } from '../form/overlay-form.tsx';
import { TextField } from '../form/text-field.tsx';
import { useForm } from '../form/use-form.ts';
import { toast } from '../ui/overlay/toast.tsx';

interface AddFormProps extends InOverlay {
  readonly onAdded: () => unknown;
}

export const AddPasskeyDialog = formDialog(
  {
    title: 'Add passkey',
    description:
      'Your browser asks for a fingerprint, a face, a PIN or a security key. There is no password to remember or steal.',
  },
  AddForm,
);

function AddForm({ onDone, onAdded }: AddFormProps) {
  const form = useForm({
    initial: { name: describeUserAgent(navigator.userAgent).slice(0, limits.passkeyNameChars) },
    parse: ({ name }) => acceptField('name', parsePasskeyName(name)),
    send: async (name: string) => {
      const { addPasskey } = await loadCode(() => import('../api/passkey.ts'), 'Passkeys could not be loaded.');
      await addPasskey(name);
      onDone();
      toast.done('Passkey added.');
      await onAdded();
    },
  });
  return (
    <DialogForm form={form} submitLabel="Continue" onCancel={onDone} failureTitle="The passkey was not added.">
      <TextField form={form} name="name" label="Name" hint="Where you keep it, such as ‘work laptop’." autoComplete="off" />
    </DialogForm>
  );
}
