// What the API answers, by name: the OpenAPI document shows it, and a test holds every answer to it.

import * as entities from '@underpass/rules/entity.ts';
import * as resources from '@underpass/rules/resource.ts';

export const answerSchemas = { ...entities, ...resources };

export type AnswerName = keyof typeof answerSchemas;
