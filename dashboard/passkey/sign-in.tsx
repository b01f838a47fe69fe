// "Sign in with a passkey", below the form that mails a link. The ceremony's code loads when the button is pressed.
import { text } from '@underpass/rules/text/text.ts';
import { messageOf } from '../api/error.ts';
import { useTask } from '../api/use-task.ts';
import { loadCode } from '../code-loading/load-code.ts';
import { Banner } from '../ui/banner.tsx';
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
      {task.error !== undefined && <Banner tone="danger">{messageOf(task.error) ?? text.error.fallback}</Banner>}
    </div>
  );
}
