// Remembers the selected project in the browser. rules/project-path.ts decides which one applies.
import { selectedProjectKey } from '@underpass/rules/project-path.ts';
import { keep, readKept } from './kept.ts';

export const rememberedProject = (): string | null => readKept(selectedProjectKey);

export const rememberProject = (projectId: string): void => keep(selectedProjectKey, projectId);
