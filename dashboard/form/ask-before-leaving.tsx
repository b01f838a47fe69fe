// Asks before a page with a changed form is left. The browser asks by itself before its tab closes.
import { useEffect } from 'react';
import { useBlocker } from 'react-router';
import { ConfirmDialog } from '../ui/overlay/confirm-dialog.tsx';

/** The state of a navigation after the page's own thing was deleted: nothing is left to save. */
export const afterDeletion = 'after-deletion';

export function AskBeforeLeaving({ changed }: { readonly changed: boolean }) {
  const blocker = useBlocker(({ currentLocation, nextLocation, historyAction }) => {
    // Back and Forward return to an entry with its old state.
    const isAfterDeletion = historyAction === 'PUSH' && nextLocation.state === afterDeletion;
    return changed && currentLocation.pathname !== nextLocation.pathname && !isAfterDeletion;
  });
  useAskBeforeUnload(changed);
  return (
    <ConfirmDialog
      open={blocker.state === 'blocked'}
      onOpenChange={(open) => open || blocker.reset?.()}
      title="Leave without saving?"
      warning="Your changes on this page are not saved."
      confirmLabel="Leave"
      onConfirm={() => blocker.proceed?.()}
    />
  );
}

function useAskBeforeUnload(changed: boolean): void {
  useEffect(() => {
    if (!changed) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [changed]);
}
