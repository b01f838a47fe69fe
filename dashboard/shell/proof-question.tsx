// The question of proof-dialog.tsx.
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { User } from '@underpass/rules/entity/entity.ts';
import { useEffect, useRef, useState } from 'react';
import { Failure } from '../api/failure.tsx';
import { onProven } from '../api/proof.ts';
import { callApi, type ProofKind } from '../api/request.ts';
import { useTask } from '../api/use-task.ts';
import { ProveByPasskey } from '../passkey/prove.tsx';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/overlay/dialog.tsx';

/** `early`: the person went on, and control still asks for the proof. */
type Step = 'ask' | 'sent' | 'early';

const title = "Confirm it's you";

export interface ProofQuestionProps {
  readonly user: User;
  readonly open: boolean;
  /** The last one stays while the dialog fades out. */
  readonly kind: ProofKind;
  readonly end: (proven: boolean) => void;
}

export function ProofQuestion({ user, open, kind, end }: ProofQuestionProps) {
  return kind === 'any' ? (
    <AnyProof user={user} open={open} end={end} />
  ) : (
    <Dialog
      open={open}
      onOpenChange={(next) => next || end(false)}
      title={title}
      description="This needs your passkey: an emailed link is not enough."
      actions={<Button onClick={() => end(false)}>Cancel</Button>}
    >
      <ProveByPasskey onProven={() => end(true)} />
      <p className="mt-4 text-sm text-ink-soft">
        Lost your passkey and your recovery codes? The operator of this service can remove your passkeys.
      </p>
    </Dialog>
  );
}

interface AnyProofProps {
  readonly user: User;
  readonly open: boolean;
  readonly end: (proven: boolean) => void;
}

function AnyProof({ user: { email, operator }, open, end }: AnyProofProps) {
  const [step, setStep] = useState<Step>('ask');
  const [mailbox, setMailbox] = useState<string>();
  const main = useRef<HTMLButtonElement>(null);
  const request = useTask(async () => {
    await callApi(sessionCalls.requestProof, {});
    // Only operators can open it.
    if (operator) setMailbox((await callApi(publicCalls.getMeta, {}).catch(() => undefined))?.mailbox);
    setStep('sent');
    main.current?.focus();
  });
  useEffect(() => {
    if (!open) return;
    return onProven(() => {
      setStep('ask');
      end(true);
    });
  }, [open, end]);
  const goOn = () => {
    setStep('early');
    end(true);
  };
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => next || end(false)}
      title={title}
      description="This change gives lasting access, and you signed in a while ago."
      initialFocus={main}
      actions={
        <>
          <Button onClick={() => end(false)}>Cancel</Button>
          {step !== 'ask' && (
            <Button busy={request.busy} onClick={() => request.run()}>
              Send again
            </Button>
          )}
          <Button
            ref={main}
            variant="primary"
            busy={step === 'ask' && request.busy}
            onClick={step === 'ask' ? request.run : goOn}
          >
            {step === 'ask' ? 'Email me a link' : 'Continue'}
          </Button>
        </>
      }
    >
      <div className="grid gap-3" aria-live="polite">
        {step === 'ask' && <p>We email a link to {address(email)}. Open it in this browser.</p>}
        {step === 'sent' && (
          <p>We sent a link to {address(email)}. Open it in this browser, and this page continues by itself.</p>
        )}
        {step !== 'ask' && mailbox !== undefined && (
          <p>
            This trial sends no mail: the link is in the{' '}
            <a href={mailbox} target="_blank" className="underline" rel="noopener">
              mailbox of the trial
            </a>
            , {mailbox}.
          </p>
        )}
        {step === 'early' && (
          <Banner tone="warn">The link sent to {address(email)} has not been opened in this browser yet.</Banner>
        )}
        <Failure task={request} />
      </div>
    </Dialog>
  );
}

const address = (email: string) => <strong className="wrap-anywhere">{email}</strong>;
