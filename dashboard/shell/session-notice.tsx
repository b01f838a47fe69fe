// What was missed is loaded when a tab is shown again or the network is back. Nobody asked for it: where the session has ended
// meanwhile, what is there stays, with everything typed into it, under a notice.
import { useCallback, useEffect, useState } from 'react';
import { useRevalidator } from 'react-router';
import { getUser } from '../api/session.ts';
import { paths } from '../routing/paths.ts';
import { useShell } from '../session/session.ts';
import { Banner } from '../ui/banner.tsx';

export interface CatchUp {
  readonly hasEnded: boolean;
  readonly catchUp: () => void;
}

export function useCatchUp(): CatchUp {
  const { email } = useShell().user;
  const { revalidate } = useRevalidator();
  const [hasEnded, setHasEnded] = useState(false);
  const catchUp = useCallback(async () => {
    // What cannot be told now, the loaders tell.
    const now = await getUser().then(
      (user) => user?.email,
      () => email,
    );
    setHasEnded(now === undefined);
    if (now === email) revalidate();
    // Another person signed in: a document of their own, in which nothing of the last one is left.
    else if (now !== undefined) window.location.assign(paths.home());
  }, [email, revalidate]);
  return { hasEnded, catchUp };
}

/** Goes when its window is come back to from a sign-in in another one. */
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
      , then go on here: what you typed is kept.
    </Banner>
  );
}
