// Remembers the selected project in the browser. rules/project-path.ts decides which one applies.
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
    // Without storage the default project opens next time.
  }
}
