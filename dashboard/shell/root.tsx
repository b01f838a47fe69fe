// Wraps every page: goes to the sign-in when the session has ended, and moves the focus after a navigation.
import { useEffect, useRef } from 'react';
import { Outlet, ScrollRestoration, useLocation, useNavigate } from 'react-router';
import { endFirstLoad } from '../api/first-data.ts';
import { forgetAll } from '../api/forget.ts';
import { onSignedOut } from '../api/request.ts';
import { paths } from '../routing/paths.ts';
import { keepReturnPath, sessionEnded } from '../routing/return-path.ts';
import { lastUser } from '../session/session.ts';
import { unsaved } from '../unsaved/use-unsaved.ts';
import { LeaveGuard } from './leave-guard.tsx';

export function Root() {
  useLeaveWhenSignedOut();
  useFocusAfterNavigation();
  useEffect(endFirstLoad, []);
  return (
    <>
      <title>Underpass</title>
      <Outlet />
      <ScrollRestoration />
      <LeaveGuard />
    </>
  );
}

function useLeaveWhenSignedOut(): void {
  const navigate = useNavigate();
  useEffect(
    () =>
      onSignedOut(() => {
        forgetAll();
        const { pathname, search } = window.location;
        if (pathname === paths.login() || unsaved.loss(unsaved.page) !== undefined) return;
        keepReturnPath(pathname + search, lastUser()?.email);
        navigate(paths.login(), { replace: true, state: sessionEnded });
      }),
    [navigate],
  );
}

/** Moves the focus to the heading of a new page, for keyboards and screen readers (WCAG 2.4.3). Not on the first page. */
function useFocusAfterNavigation(): void {
  const { pathname } = useLocation();
  const previous = useRef(pathname);
  useEffect(() => {
    if (previous.current === pathname) return;
    previous.current = pathname;
    const target = document.querySelector<HTMLElement>('main h1[tabindex="-1"]') ?? document.querySelector<HTMLElement>('main');
    target?.focus({ preventScroll: true });
  }, [pathname]);
}
