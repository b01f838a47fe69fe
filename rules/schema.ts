// The pieces that the schemas of the API are made of (zod). Browsers and the client import only types
// from the files that use it, so zod does not reach them.

import { z } from 'zod';

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** The type of what a schema describes. */
export type Described<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>;

export const { string, boolean, number, array, nullable } = z;
/** Strict: an answer with a field that the schema does not name fails the tests. */
export const entity = z.strictObject;
/** The field may be absent, and is never undefined. */
export const maybe = z.exactOptional;
export const count = () => number().int().nonnegative();
/** ISO 8601, UTC. */
export const time = () => z.iso.datetime();
export const email = () => string().meta({ format: 'email' });
