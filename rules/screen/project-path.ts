// The project selector: where it leads and what it remembers (spec 2, Project shell).

import type { Project } from '../entity/entity.ts';

/** Local storage key of the selected project. */
export const selectedProjectKey = 'selected-project';

const keptSegments = 3;

/** The path after a change of project: new id, at most three segments. Other pages stay where they are. */
export function rewriteProjectPath(path: string, projectId: string): string {
  const segments = path
    .split(/[?#]/, 1)[0]!
    .split('/')
    .filter((segment) => segment !== '');
  if (segments[0] !== 'projects' || segments.length < 2) return path;
  const kept = segments.slice(0, keptSegments);
  kept[1] = encodeURIComponent(projectId);
  return `/${kept.join('/')}`;
}

/** The remembered project if it is still one of the user's, else the default one, else the first. */
export function selectProject<P extends Pick<Project, 'id'>>(
  projects: readonly P[],
  remembered: string | null,
  defaultProject: string,
): P | undefined {
  const find = (id: string | null) => projects.find((project) => project.id === id);
  return find(remembered) ?? find(defaultProject) ?? projects[0];
}
