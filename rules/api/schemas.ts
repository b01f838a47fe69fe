// Every schema of the API by name. At run time only control and tests need them; others import the types.

import type { z } from 'zod';
import * as entities from '../entity/entity.ts';
import * as resources from '../entity/resource.ts';
import * as accessPolicies from '../visit/access-policy.ts';
import * as payloads from './payload.ts';
import * as queries from './query.ts';

export const answerSchemas = { ...entities, ...accessPolicies, ...resources };
export const payloadSchemas = { ...payloads };
export const querySchemas = { ...queries };

type PayloadName = keyof typeof payloadSchemas;

interface Row {
  readonly query?: keyof typeof querySchemas;
  readonly json?: PayloadName;
  readonly form?: PayloadName;
  readonly multipart?: PayloadName;
}

/** The query parameters of a call by name. */
export function queryShapeOf({ query }: Row): Readonly<Record<string, z.ZodType>> {
  return query === undefined ? {} : querySchemas[query].shape;
}

/** The schema of a call's body; null if it has none, or CSV. */
export function payloadSchemaOf({ json, form, multipart }: Row): z.ZodObject | null {
  const name = json ?? form ?? multipart;
  return name === undefined ? null : payloadSchemas[name];
}
