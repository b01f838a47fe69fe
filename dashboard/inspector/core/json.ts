// JSON as a value; undefined if the text is no JSON, such as a cut body.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

interface ParsedJson {
  readonly value: Json;
}

export function parseJson(text: string): ParsedJson | undefined {
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}
