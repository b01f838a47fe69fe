// Tells projects of one name apart: everybody's first one is called "default", and who is invited sees two of them. Pure.
import type { Project } from '@underpass/rules/entity.ts';
import { roleLabels } from '@underpass/rules/permission.ts';

/** Ids begin with the time, so their ends differ. */
const TELLING_CHARS = 6;

/** By project id, for those that share their name: the role there, and the end of the id where that is the same too. */
export function namesakeNotes(projects: readonly Project[]): ReadonlyMap<string, string> {
  const notes = new Map<string, string>();
  for (const namesakes of Map.groupBy(projects, ({ name }) => name).values()) {
    if (namesakes.length === 1) continue;
    for (const { id, role } of namesakes) {
      const isOnly = namesakes.every((other) => other.id === id || other.role !== role);
      notes.set(id, isOnly ? roleLabels[role] : `${roleLabels[role]} · …${id.slice(-TELLING_CHARS)}`);
    }
  }
  return notes;
}
