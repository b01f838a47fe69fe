// "Sign in with a passkey", below the form that mails a link. The ceremony's code loads when the button is pressed.
import { Failure } from '../api/failure.tsx';
import { useTask } from '../api/use-task.ts';
import { loadCode } from '../code-loading/load-code.ts';
import { Button } from '../ui/button.tsx';
import { supportsPasskeys } from './supported.ts';

interface PasskeySignInProps {
  readonly open: (path: string) => Promise<void>;
}

export function PasskeySignIn({ open }: PasskeySignInProps) {
  const task = useTask(async () => {
    const [{ signInByPasskey }, { forgetSession }, { startPath }] = await loadCode(
      () => Promise.all([import('../api/passkey.ts'), import('../session/session.ts'), import('../session/start-path.ts')]),
      'Passkeys could not be loaded.',
    );
    await signInByPasskey();
    forgetSession();
    await open(await startPath());
  });
  if (!supportsPasskeys()) return null;
  return (
    <div className="mt-4 grid gap-4">
      <Button className="w-full" busy={task.busy} onClick={task.run}>
        Sign in with a passkey
      </Button>
      <Failure task={task} />
    </div>
  );
}
