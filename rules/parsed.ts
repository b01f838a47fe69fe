// The two answers of every parser: a canonical value, or the exact text that screen and API both show.

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

/** The same for a form: one message per field that has a problem. */
export type ParsedForm<T, Field extends string> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: Readonly<Partial<Record<Field, string>>> };

export function accept<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

export function refuse(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}

/** The messages of the fields that were refused. */
export function collectErrors<Field extends string>(
  fields: Readonly<Record<Field, Parsed<unknown>>>,
): Partial<Record<Field, string>> {
  const errors: Partial<Record<Field, string>> = {};
  for (const field of Object.keys(fields) as Field[]) {
    const parsed = fields[field];
    if (!parsed.ok) errors[field] = parsed.message;
  }
  return errors;
}

type ValuesOf<Fields> = { readonly [Field in keyof Fields]: Fields[Field] extends Parsed<infer Value> ? Value : never };

/** The values of all fields, or the messages of those that were refused. */
export function acceptFields<const Fields extends Readonly<Record<string, Parsed<unknown>>>>(
  fields: Fields,
): ParsedForm<ValuesOf<Fields>, keyof Fields & string> {
  const errors = collectErrors<keyof Fields & string>(fields);
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const values = Object.entries(fields).map(([field, parsed]) => [field, parsed.ok && parsed.value]);
  return accept(Object.fromEntries(values) as ValuesOf<Fields>);
}

/** A form of which one field counts. */
export const acceptField = <Value, Field extends string>(field: Field, parsed: Parsed<Value>): ParsedForm<Value, Field> =>
  parsed.ok ? accept(parsed.value) : { ok: false, errors: { [field]: parsed.message } as Partial<Record<Field, string>> };

/** Parses each text of a list, and removes duplicates. `things`: what they are, for the message about too many. */
export function parseEach(
  list: readonly string[],
  parse: (text: string) => Parsed<string>,
  most: number,
  things: string,
): Parsed<readonly string[]> {
  if (list.length > most) return refuse(`Provide at most ${most} ${things}; this list has ${list.length}.`);
  const values = new Set<string>();
  for (const text of list) {
    const parsed = parse(text);
    if (!parsed.ok) return parsed;
    values.add(parsed.value);
  }
  return accept([...values]);
}

/** The list with the typed entry at its end; a duplicate changes nothing. */
export const addWith =
  (parse: (text: string) => Parsed<string>) =>
  (list: readonly string[], text: string): Parsed<readonly string[]> => {
    const parsed = parse(text);
    if (!parsed.ok) return parsed;
    return accept(list.includes(parsed.value) ? list : [...list, parsed.value]);
  };
