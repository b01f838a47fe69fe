// Asks before a navigation, Back or the browser loses unsaved work. Back first closes what is open over the page.
import { CSPProvider } from '@base-ui/react/csp-provider';
import { useEffect, useRef } from 'react';
import { useBlocker } from 'react-router';
import { LeaveQuestion } from '../ui/overlay/leave-question.tsx';
import { mayPass, unsaved, useAskBeforeUnload } from '../unsaved/use-unsaved.ts';

export function LeaveGuard() {
  useAskBeforeUnload();
  useAskBeforeNavigation();
  return (
    <CSPProvider disableStyleElements>
      <LeaveQuestion layer={unsaved.page} />
    </CSPProvider>
  );
}

/** The router has one blocker, so this is the only one. */
function useAskBeforeNavigation(): void {
  const closesTop = useRef(false);
  const blocker = useBlocker(({ currentLocation, nextLocation, historyAction }) => {
    if (mayPass()) return false;
    closesTop.current = historyAction === 'POP' && unsaved.isCovered();
    // The router now returns to this entry of the history; what closes may then replace it.
    if (closesTop.current) addEventListener('popstate', unsaved.closeTop, { once: true });
    // The same path is the same page: a tab of it, a search, a filter.
    return closesTop.current || (currentLocation.pathname !== nextLocation.pathname && unsaved.loss(unsaved.page) !== undefined);
  });
  useEffect(() => {
    if (blocker.state !== 'blocked') return;
    if (closesTop.current) blocker.reset();
    else unsaved.leave(unsaved.page, blocker.proceed, blocker.reset);
  }, [blocker]);
}
