// The sign-in as the first page of a browser without a session. Its links load documents, so it needs no router and no routes.
import { parseVisitorPath } from '@underpass/rules/people/return-path.ts';
import { paths } from '../routing/paths.ts';
import { keepReturnPath } from '../routing/return-path.ts';
import { PublicFrame } from '../shell/public-frame.tsx';
import { DocumentLink } from '../ui/page-link.tsx';
import { SignIn } from './sign-in.tsx';

/** What the routes of / and /login do without a session. Call it once, before the page shows. */
export function enterSignIn(): void {
  if (location.pathname !== paths.login()) history.replaceState(null, '', paths.login());
  const visit = parseVisitorPath(location.hash.slice(1));
  if (visit !== undefined) keepReturnPath(visit);
}

/** Stays pending, and its button busy, until the browser has left. */
function leaveTo(path: string): Promise<void> {
  location.replace(path);
  return new Promise(() => {});
}

export function SignInPage() {
  return (
    <PublicFrame Link={DocumentLink}>
      <SignIn Link={DocumentLink} open={leaveTo} />
    </PublicFrame>
  );
}
