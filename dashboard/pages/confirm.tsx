// Opened from the mail of the dialog "Confirm it's you": renews the proof of this browser's session.
import { useEffect, useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { isApiError, messageOf, noAnswer } from '../api/error.ts';
import { later } from '../api/later.ts';
import { redeemProof } from '../api/proof.ts';
import { paths } from '../routing/paths.ts';
import { loadSession } from '../session/session.ts';
import { ButtonLink } from '../ui/button-link.tsx';
import { WentWrongIllustration } from '../ui/illustrations/went-wrong.tsx';
import { LoadingArea } from '../ui/spinner.tsx';
import { AuthOutcome } from './auth-card.tsx';

const elsewhere = 'Open this link in the browser that asked you to confirm.';

/** Redeems once, however often React renders the page: a link works once. */
export async function loader({ params }: LoaderFunctionArgs) {
  if (!(await loadSession())) return { failure: elsewhere };
  return { redeemed: later(redeemProof(params.token ?? '')) };
}

export function Component() {
  const { failure, redeemed } = useLoaderData<typeof loader>() as {
    readonly failure?: string;
    readonly redeemed?: Promise<void>;
  };
  const [outcome, setOutcome] = useState<'done' | { readonly failure: string } | undefined>(failure ? { failure } : undefined);
  useEffect(() => {
    redeemed?.then(
      () => setOutcome('done'),
      (error: unknown) => setOutcome({ failure: failureText(error) }),
    );
  }, [redeemed]);
  if (outcome === undefined) return <LoadingArea label="Confirming" className="flex-1" />;
  if (outcome === 'done')
    return (
      <AuthOutcome title="Confirmed" text="Go back to the page that asked you: it continues by itself. You can close this one." />
    );
  return (
    <AuthOutcome
      illustration={<WentWrongIllustration />}
      title="Not confirmed"
      text={outcome.failure}
      action={<ButtonLink to={paths.home()}>Home</ButtonLink>}
    />
  );
}

/** Reloading the page tries again, unless control refused the link. */
function failureText(error: unknown): string {
  const reason = messageOf(error) ?? elsewhere;
  return isApiError(error) && error.status === noAnswer ? `${reason} Reload this page to try again.` : reason;
}
