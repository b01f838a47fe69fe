// What a text may consist of before any other rule reads it: Postgres stores no NUL, and no half of a pair.

const controls = /\p{Cc}/u;
/** Control characters except tab and line ends, which a text of several lines may hold. */
const controlsInText = /[^\P{Cc}\t\n\r]/u;

/** True for what may be in a path segment or a query parameter. */
export const isPlainWord = (text: string): boolean => text.isWellFormed() && !controls.test(text);

/** True for what may be in a field of a body, which may have several lines. */
export const isPlainText = (text: string): boolean => text.isWellFormed() && !controlsInText.test(text);
