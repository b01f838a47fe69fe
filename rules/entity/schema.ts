// The pieces that the schemas of the API are made of (zod). Browsers and the client import only types
// from the files that use it, so zod does not reach them.

import { z } from 'zod';
import { isPlainText } from '../text/characters.ts';

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** The type of what a schema describes. */
export type Described<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>;
/** The type of what a caller may send for a schema. */
export type Accepted<Schema extends z.ZodType> = DeepReadonly<z.input<Schema>>;

export const { string, boolean, number, array, nullable } = z;
/** Strict: an answer with a field that the schema does not name fails the tests. */
export const entity = z.strictObject;
/** The field may be absent, and is never undefined. */
export const maybe = z.exactOptional;
export const count = () => number().int().nonnegative();
/** ISO 8601, UTC. */
export const time = () => z.iso.datetime();
/** What a meter counts or measures. */
export const rate = () => number().nonnegative();
/** Canonical: A-labels. */
export const hostname = () => string().meta({ format: 'hostname' });
/** A text that gives its reader a right. Answers that hold one are never compressed. */
export const secret = () => string().meta({ format: 'password' });
/** A path of this server. */
export const path = () => string().meta({ format: 'uri-reference' });
export const email = () => string().meta({ format: 'email' });

/** What the OpenAPI document says about a value beyond its type. The rule that parses the value decides, not the schema. */
interface Facts {
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** The end of the sentence that a refusal begins with `Field 'name'`. */
const mustBe = (noun: string) => ({
  error: ({ input }: { readonly input?: unknown }) => (input === undefined ? 'is missing.' : `must be ${noun}.`),
});

const plain = (noun: string) => string(mustBe(noun)).refine(isPlainText, 'must not hold control characters.');

export const textField = (facts: Facts = {}) => plain('a string').meta({ ...facts });
export function textsField(facts: Facts, size: { readonly minItems?: number; readonly maxItems: number }) {
  const noun = 'a list of strings';
  return array(plain(noun).meta({ ...facts }), mustBe(noun)).meta(size);
}
/** Bytes in base64url. */
export const blobField = (maxLength: number) =>
  string(mustBe('bytes in base64url'))
    .max(maxLength, `must be at most ${maxLength} characters long.`)
    .regex(/^[\w-]*$/, 'must be bytes in base64url.');
/** Text of several lines. The rule that reads it gives the text of the refusal. */
export const pemField = (facts: Facts) =>
  string(mustBe('a string'))
    .refine((text) => isPlainText(text.replace(/[\r\n\t]/g, ' ')), 'must not hold control characters.')
    .meta({ format: 'password', ...facts });
/** How a browser reaches a passkey; words of WebAuthn. */
export const transportsField = () => z.nullish(array(plain('a string').max(32)).max(16));
export const booleanField = () => boolean(mustBe('true or false'));
export const numberField = (facts: Facts = {}) => number(mustBe('a number')).meta({ type: 'integer', ...facts });

/** A field that may be left out. JSON may also say null. */
export const optionalField = <Schema extends z.ZodType>(schema: Schema) => z.nullish(schema);

/** Callers send one of the words. A handler gets any text, because the rule that parses it gives the text of the refusal. */
export const wordField = <Word extends string>({ options }: { readonly options: readonly Word[] }) =>
  plain('a string').meta({ enum: options }) as unknown as z.ZodType<string, Word>;

/** Callers name only the counts that they change. A handler gets any names, because it refuses unknown ones with a text. */
export function countsField<Name extends string>(highest: Readonly<Record<Name, number>>) {
  const noun = mustBe('an object of whole numbers');
  const counts = Object.entries<number>(highest).map(([name, maximum]) => [
    name,
    maybe(z.int(noun).meta({ minimum: 0, maximum })),
  ]);
  return z
    .object(Object.fromEntries(counts), noun)
    .catchall(z.int(noun))
    .meta({ additionalProperties: false }) as unknown as z.ZodType<
    Readonly<Record<string, number>>,
    { readonly [Key in Name]?: number }
  >;
}
