// Which project the screens are about: the remembered one, the default, the first (spec 2, Project selector).
import type { Project, User } from '@underpass/rules/entity.ts';

const STORAGE_KEY = 'selected-project';
const KEPT_SEGMENTS = 3;

/** The project to open where the address names none. */
export function chooseProject(projects: readonly Project[], user: User, remembered: string | null): Project | undefined {
  const byId = (id: string | null) => projects.find((project) => project.id === id);
  return byId(remembered) ?? byId(user.defaultProject) ?? projects[0];
}

/** The same page in another project: at most three segments stay, so no name of the old project is carried over. */
export function rewriteProjectPath(pathname: string, projectId: string): string {
  const segments = pathname.split('/').filter(Boolean);
  if (segments[0] !== 'projects' || segments.length < 2) return pathname;
  segments[1] = encodeURIComponent(projectId);
  return `/${segments.slice(0, KEPT_SEGMENTS).join('/')}`;
}

export function rememberedProject(): string | null {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

export function rememberProject(projectId: string): void {
  try {
    localStorage.setItem(STORAGE_KEY, projectId);
  } catch {
    // The default project then opens next time.
  }
}
