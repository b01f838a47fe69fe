// Notes that distinguish projects with the same name, such as first projects of people of one company. Pure.
import type { Project } from '@underpass/rules/entity/entity.ts';
import { roleLabels } from '@underpass/rules/people/permission.ts';

/** Ids begin with a timestamp, so their ends differ more. */
const tellingChars = 6;

/** Notes by project id, for projects that share a name: the user's role, and the end of the id if the roles are the same too. */
export function namesakeNotes(projects: readonly Project[]): ReadonlyMap<string, string> {
  const notes = new Map<string, string>();
  for (const namesakes of Map.groupBy(projects, ({ name }) => name).values()) {
    if (namesakes.length === 1) continue;
    for (const { id, role } of namesakes) {
      const isOnly = namesakes.every((other) => other.id === id || other.role !== role);
      notes.set(id, isOnly ? roleLabels[role] : `${roleLabels[role]} · …${id.slice(-tellingChars)}`);
    }
  }
  return notes;
}
