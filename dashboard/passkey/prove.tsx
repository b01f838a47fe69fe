// Confirms the session with a passkey or with a recovery code.
import { passkeyCalls } from '@underpass/rules/api/passkey-calls.ts';
import { acceptField } from '@underpass/rules/parsed.ts';
import { parseRecoveryCode } from '@underpass/rules/people/passkey.ts';
import { useState } from 'react';
import { Failure } from '../api/failure.tsx';
import { callApi } from '../api/request.ts';
import { useTask } from '../api/use-task.ts';
import { loadCode } from '../code-loading/load-code.ts';
import { TextField } from '../form/text-field.tsx';
import { useForm } from '../form/use-form.ts';
import { Button } from '../ui/button.tsx';

interface ProveProps {
  readonly onProven: () => unknown;
}

export function ProveByPasskey({ onProven }: ProveProps) {
  const [byCode, setByCode] = useState(false);
  const task = useTask(async () => {
    const { proveByPasskey } = await loadCode(() => import('../api/passkey.ts'), 'Passkeys could not be loaded.');
    await proveByPasskey();
    await onProven();
  });
  if (byCode) return <RecoveryCodeForm onProven={onProven} onBack={() => setByCode(false)} />;
  return (
    <div className="grid justify-items-start gap-3">
      <div className="flex flex-wrap gap-2">
        <Button variant="primary" busy={task.busy} onClick={task.run}>
          Use a passkey
        </Button>
        <Button variant="quiet" onClick={() => setByCode(true)}>
          Use a recovery code
        </Button>
      </div>
      <Failure task={task} />
    </div>
  );
}

function RecoveryCodeForm({ onProven, onBack }: ProveProps & { readonly onBack: () => void }) {
  const form = useForm({
    initial: { recoveryCode: '' },
    parse: ({ recoveryCode }) => acceptField('recoveryCode', parseRecoveryCode(recoveryCode)),
    asks: false,
    send: async (recoveryCode: string) => {
      await callApi(passkeyCalls.proveByRecoveryCode, { payload: { recoveryCode } });
      await onProven();
    },
  });
  return (
    <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="grid max-w-md gap-4 text-left">
      <TextField
        form={form}
        name="recoveryCode"
        label="Recovery code"
        hint="Each code works once."
        error={form.failure}
        autoComplete="off"
        autoFocus
      />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" variant="primary" busy={form.busy}>
          Confirm
        </Button>
        <Button onClick={onBack}>Back</Button>
      </div>
    </form>
  );
}
