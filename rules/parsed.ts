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
