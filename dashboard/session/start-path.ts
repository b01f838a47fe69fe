// Where a person goes after signing in.
import { parseReturnPath } from '@underpass/rules/people/return-path.ts';
import { paths } from '../routing/paths.ts';
import { takeReturnPath } from '../routing/return-path.ts';
import { loadSession } from './session.ts';

/**
 * The page that this user left, else the one that their login link names, else home. Home loads the session again if it failed here.
 * Anybody can write a link's fragment: rules/people/return-path.ts says which pages count.
 */
export async function startPath(fragment = ''): Promise<string> {
  const session = await loadSession().catch(() => undefined);
  return takeReturnPath(session?.user.email) ?? parseReturnPath(fragment.slice(1)) ?? paths.home();
}
