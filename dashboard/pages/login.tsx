// The route of the sign-in.
import { parseVisitorPath } from '@underpass/rules/people/return-path.ts';
import { Link, redirect, useLocation, useNavigate } from 'react-router';
import { paths } from '../routing/paths.ts';
import { keepReturnPath, sessionEnded } from '../routing/return-path.ts';
import { loadSession } from '../session/session.ts';
import { SignIn } from './sign-in.tsx';

/** spec 2: a signed-in user is redirected to /. A member who came from the sign-in of a tunnel's visitors goes back there. */
export async function loader() {
  const visit = parseVisitorPath(location.hash.slice(1));
  if (await loadSession()) return redirect(visit ?? paths.home());
  if (visit !== undefined) keepReturnPath(visit);
  return null;
}

export function Component() {
  const navigate = useNavigate();
  const hasEnded = useLocation().state === sessionEnded;
  const lead = hasEnded ? 'Your session has ended. Sign in again to return to the page you were on.' : undefined;
  return <SignIn Link={Link} lead={lead} open={async (path) => navigate(path, { replace: true })} />;
}
