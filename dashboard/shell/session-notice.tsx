// Reloads the session and the page's data when its tab is shown again or the network is back. If the session has ended by then, the
// page and everything typed stay, under a notice.
import { useCallback, useEffect, useState } from 'react';
import { useRevalidator } from 'react-router';
import { paths } from '../routing/paths.ts';
import { refreshSession, useShell } from '../session/session.ts';
import { Banner } from '../ui/banner.tsx';

interface CatchUp {
  readonly hasEnded: boolean;
  readonly catchUp: () => void;
}

export function useCatchUp(): CatchUp {
  const { email } = useShell().user;
  const { revalidate } = useRevalidator();
  const [hasEnded, setHasEnded] = useState(false);
  const catchUp = useCallback(async () => {
    // If this call fails, the loaders show the error.
    const now = await refreshSession().then(
      (session) => session?.user.email,
      () => email,
    );
    setHasEnded(now === undefined);
    if (now === email) revalidate();
    // Another user signed in: a full reload drops all data of the previous user.
    else if (now !== undefined) window.location.assign(paths.home());
  }, [email, revalidate]);
  return { hasEnded, catchUp };
}

/** Disappears when the user returns to this window after signing in elsewhere. */
export function SessionNotice({ hasEnded, catchUp }: CatchUp) {
  useEffect(() => {
    if (!hasEnded) return;
    addEventListener('focus', catchUp);
    return () => removeEventListener('focus', catchUp);
  }, [hasEnded, catchUp]);
  if (!hasEnded) return null;
  return (
    <Banner tone="warn" title="Your session has ended." className="mb-6">
      <a href={paths.login()} target="_blank" rel="noreferrer" className="underline underline-offset-4">
        Sign in again in another tab
      </a>
      , then continue here. Everything you typed is kept.
    </Banner>
  );
}
