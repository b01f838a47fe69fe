// JSON for people: indented, or undefined if the text is no JSON (a cut body).

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

export interface ParsedJson {
  readonly value: Json;
}

export function parseJson(text: string): ParsedJson | undefined {
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}

/** Indents JSON; other text stays as it is. */
export function indentJson(text: string): string {
  const parsed = parseJson(text);
  return parsed === undefined ? text : JSON.stringify(parsed.value, null, 2);
}
