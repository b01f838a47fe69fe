// Patterns for `like`.

/** A pattern for `like … escape '\'` that finds the text anywhere. */
export const containing = (text: string): string => `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
