// Remembers the selected project in the browser; which one it is and where a change leads, rules/project-path.ts decides.
import { selectedProjectKey } from '@underpass/rules/project-path.ts';

export function rememberedProject(): string | null {
  try {
    return localStorage.getItem(selectedProjectKey);
  } catch {
    return null;
  }
}

export function rememberProject(projectId: string): void {
  try {
    localStorage.setItem(selectedProjectKey, projectId);
  } catch {
    // The default project then opens next time.
  }
}
