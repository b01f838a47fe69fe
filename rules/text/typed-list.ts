// What people type or paste into one field for names and addresses. Forms and the CLI read it with these before a rule
// judges each entry; the API takes entries as they are.

/** Splits at commas, semicolons and white space. */
export const splitEntries = (text: string): readonly string[] => text.split(/[\s,;]+/).filter((entry) => entry !== '');

/** The host of a pasted address of a page: `https://app.example.com/login` is `app.example.com`. Other text stays. */
export function unwrapHost(text: string): string {
  const trimmed = text.trim();
  const match = /^(?:https?:\/\/([^\s/?#@:]+)(?::\d{1,5})?|([^\s/?#@:]+))(?:[/?#]\S*)?$/i.exec(trimmed);
  return match?.[1] ?? match?.[2] ?? trimmed;
}
