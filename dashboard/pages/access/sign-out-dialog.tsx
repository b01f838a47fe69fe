// Ends the sessions of one person or of everybody. Those whom the policy still admits may sign in again.
import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import { accept, acceptFields, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import { callApi } from '../../api/request.ts';
import { DialogForm, formDialog, type InOverlay } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { useProject } from '../../session/session.ts';
import { RadioCards } from '../../ui/input/radio-cards.tsx';
import { toast } from '../../ui/overlay/toast.tsx';

interface SignOutFormProps {
  readonly policy: string;
  /** The person that the form names at first. */
  readonly email?: string;
}

export const SignOutDialog = formDialog(
  {
    title: 'Sign out visitors',
    description:
      'Their sessions and open connections end within seconds. Anyone the policy still admits can sign in again. Machine tokens keep working.',
  },
  SignOutForm,
);

interface SignOutValues {
  readonly whom: 'one' | 'all';
  readonly email: string;
}

/** Empty: everybody. */
interface SignOut {
  readonly email?: string;
}

function parseSignOut({ whom, email }: SignOutValues): ParsedForm<SignOut, 'email'> {
  return whom === 'all' ? accept({}) : acceptFields({ email: parseEmail(email) });
}

const choices = [
  { value: 'one', label: 'One person', description: 'Everywhere they are signed in.' },
  { value: 'all', label: 'Everybody', description: 'Includes people who used the password or a link.' },
] as const;

function SignOutForm({ policy, email = '', onDone }: SignOutFormProps & InOverlay) {
  const project = useProject();
  const form = useForm<SignOutValues, SignOut>({
    initial: { whom: 'one', email },
    parse: parseSignOut,
    send: async (payload) => {
      await callApi(accessCalls.signOutVisitors, { project: project.id, name: policy, payload });
      toast.done(`${payload.email ?? 'Everybody'} is signed out of ${policy}.`);
      onDone();
    },
  });
  const { values, set } = form;
  return (
    <DialogForm form={form} submitLabel="Sign out" onCancel={onDone} failureTitle="Nobody was signed out.">
      <RadioCards label="Whom" value={values.whom} options={choices} onChange={(whom) => set('whom', whom)} />
      {values.whom === 'one' && (
        <TextField form={form} name="email" label="Email" type="email" autoComplete="off" placeholder="ada@example.com" />
      )}
    </DialogForm>
  );
}
