// Stands in for pages that are closed to this session because a passkey is required: the person confirms with theirs, or adds one.
import { passkeyCalls } from '@underpass/rules/api/passkey-calls.ts';
import type { Passkeys } from '@underpass/rules/entity/resource.ts';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { askFor } from '../api/answers.ts';
import { useFetched } from '../api/use-fetched.ts';
import { forgetSession } from '../session/session.ts';
import { Button } from '../ui/button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { ErrorPanel } from '../ui/error-panel.tsx';
import { NoEntryIllustration } from '../ui/illustrations/no-entry.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { LoadingArea } from '../ui/spinner.tsx';
import { AddPasskeyDialog } from './add.tsx';
import { ProveByPasskey } from './prove.tsx';
import { supportsPasskeys } from './supported.ts';

interface PasskeyNeededProps {
  /** Who requires it, as the subject of a sentence. */
  readonly who: string;
}

export function PasskeyNeeded({ who }: PasskeyNeededProps) {
  const { data, error, busy, reload } = useFetched(askFor(passkeyCalls.listPasskeys, {}));
  return (
    <>
      <PageHeader title="Passkey required" />
      {data && <Question who={who} passkeys={data} />}
      {!data && (error === undefined ? <LoadingArea /> : <ErrorPanel onRetry={reload} busy={busy} />)}
    </>
  );
}

function Question({ who, passkeys }: PasskeyNeededProps & { readonly passkeys: Passkeys }) {
  const { revalidate } = useRevalidator();
  const [open, setOpen] = useState(false);
  const goOn = async () => {
    forgetSession();
    await revalidate();
  };
  if (passkeys.passkeys.length > 0) {
    return (
      <EmptyState
        title="Confirm with your passkey"
        text={`${who} requires a passkey, and you signed in by email.`}
        action={<ProveByPasskey onProven={goOn} />}
        illustration={<NoEntryIllustration />}
      />
    );
  }
  const help = supportsPasskeys()
    ? 'Add one to continue.'
    : 'Passkeys do not work here: open the dashboard over https in a current browser.';
  return (
    <>
      <EmptyState
        title="You have no passkey yet"
        text={`${who} requires a passkey. ${help}`}
        action={
          supportsPasskeys() && (
            <Button variant="primary" onClick={() => setOpen(true)}>
              Add passkey
            </Button>
          )
        }
        illustration={<NoEntryIllustration />}
      />
      <AddPasskeyDialog open={open} onOpenChange={setOpen} onAdded={goOn} />
    </>
  );
}
