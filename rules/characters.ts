// What a text may consist of before any other rule reads it: Postgres stores no NUL, and no half of a pair.

const controls = /\p{Cc}/u;
/** All but tab and the ends of lines, which a text of several lines has. */
const controlsInText = /[^\P{Cc}\t\n\r]/u;

/** Of a path segment, a query parameter. */
export const isPlainWord = (text: string): boolean => text.isWellFormed() && !controls.test(text);

/** Of a body's field, which may have lines. */
export const isPlainText = (text: string): boolean => text.isWellFormed() && !controlsInText.test(text);
