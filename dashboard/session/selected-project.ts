// Remembers the selected project in the browser. rules/screen/project-path.ts decides which one applies.
import { selectedProjectKey } from '@underpass/rules/screen/project-path.ts';
import { keep, readKept } from './kept.ts';

export const rememberedProject = (): string | null => readKept(selectedProjectKey);

export const rememberProject = (projectId: string): void => keep(selectedProjectKey, projectId);
