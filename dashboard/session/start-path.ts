// Where a person goes after signing in.
import { paths } from '../routing/paths.ts';
import { takeReturnPath } from '../routing/return-path.ts';
import { loadSession } from './session.ts';

/** The page that this user left, else home. Home loads the session again if it failed here. */
export async function startPath(): Promise<string> {
  const session = await loadSession().catch(() => undefined);
  return takeReturnPath(session?.user.email) ?? paths.home();
}
