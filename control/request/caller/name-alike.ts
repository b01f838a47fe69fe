// Names of a project's objects that people would take for each other.

import type { Queries } from '../../platform/store/store.ts';

/** The name of an object that differs at most in upper and lower case. */
export async function findNameAlike(
  db: Queries,
  table: 'security_groups' | 'access_policies',
  projectId: string,
  name: string,
): Promise<string | undefined> {
  const query = db.selectFrom(table).select('name').where('project_id', '=', projectId);
  return (await query.where((eb) => eb(eb.fn('lower', ['name']), '=', name.toLowerCase())).executeTakeFirst())?.name;
}
