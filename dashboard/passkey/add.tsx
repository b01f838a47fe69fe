// The dialog that adds a passkey.
import { limits } from '@underpass/rules/limits.ts';
import { accept, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parsePasskeyName } from '@underpass/rules/people/passkey.ts';
import { describeUserAgent } from '@underpass/rules/text/user-agent.ts';
import { loadCode } from '../code/load-code.ts';
import { DialogForm } from '../form/overlay-form.tsx';
import { TextField } from '../form/text-field.tsx';
import { useForm } from '../form/use-form.ts';
import { Dialog } from '../ui/overlay/dialog.tsx';
import { toast } from '../ui/overlay/toast.tsx';

export interface AddPasskeyProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly onAdded: () => unknown;
}

export function AddPasskeyDialog(props: AddPasskeyProps) {
  return (
    <Dialog
      open={props.open}
      onOpenChange={props.onOpenChange}
      title="Add passkey"
      description="Your browser asks for a fingerprint, a face, a PIN or a security key. There is no password to remember or steal."
      flush
    >
      <AddForm {...props} />
    </Dialog>
  );
}

function parseFields({ name }: { readonly name: string }): ParsedForm<string, 'name'> {
  const parsed = parsePasskeyName(name);
  return parsed.ok ? accept(parsed.value) : { ok: false, errors: { name: parsed.message } };
}

function AddForm({ onOpenChange, onAdded }: AddPasskeyProps) {
  const form = useForm({
    initial: { name: describeUserAgent(navigator.userAgent).slice(0, limits.passkeyNameChars) },
    parse: parseFields,
    send: async (name: string) => {
      const { addPasskey } = await loadCode(() => import('../api/passkey.ts'), 'Passkeys could not be loaded.');
      await addPasskey(name);
      onOpenChange(false);
      toast.done('Passkey added.');
      await onAdded();
    },
  });
  return (
    <DialogForm form={form} submitLabel="Continue" onCancel={() => onOpenChange(false)} failureTitle="The passkey was not added.">
      <TextField form={form} name="name" label="Name" hint="Where you keep it, such as ‘work laptop’." autoComplete="off" />
    </DialogForm>
  );
}
