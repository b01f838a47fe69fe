// Quick tunnels: ordinary tunnels that `underpass http PORT` makes, with an expiry and an address that the same person gets again
// in the same folder.

import { accept, type Parsed, refuse } from '../parsed.ts';
import { firstWords, secondWords } from '../text/word-list.ts';

/** What a client sends for a folder. It does not reveal the folder, and no two machines send the same. */
const keyPattern = /^[\w-]{22,64}$/;

export function parseFolderKey(text: string): Parsed<string> {
  return keyPattern.test(text) ? accept(text) : refuse('Key must have 22 to 64 letters, digits, hyphens or underscores.');
}

/** RFC 4648 without the digits that look like letters, in lower case: 32 signs, five bits each. */
const signs = 'abcdefghijklmnopqrstuvwxyz234567';
const suffixSigns = 10;

/**
 * The label that a secret digest stands for: two words and 50 bits, with the words some 66. No other generated name looks like it,
 * because the numbered ones end in six digits.
 */
export function renderQuickLabel(digest: Uint8Array): string {
  const pick = (words: readonly string[], at: number): string => words[(digest[at]! * 256 + digest[at + 1]!) % words.length]!;
  const suffix = [...digest.slice(4, 4 + suffixSigns)].map((byte) => signs[byte % signs.length]).join('');
  return `${pick(firstWords, 0)}-${pick(secondWords, 2)}-${suffix}`;
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
export const lastsSecondsLeast = 60;
/** The longest time; for more, a person keeps the tunnel. */
export const lastsSecondsMost = 30 * 86_400;

/** `90m`, `2h`, `1d` or `1h30m`, in seconds. */
export function parseLasting(text: string): Parsed<number> {
  const parts = [...text.trim().matchAll(/(\d{1,6})([smhd])/g)];
  const isWhole = parts.length > 0 && parts.map(([part]) => part).join('') === text.trim();
  const seconds = parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitSeconds[unit!]!, 0);
  return isWhole ? parseLastsSeconds(seconds) : refuse(`'${text}' is not a time such as 30m, 2h or 1d`);
}

export function parseLastsSeconds(seconds: number): Parsed<number> {
  const fits = Number.isInteger(seconds) && seconds >= lastsSecondsLeast && seconds <= lastsSecondsMost;
  return fits ? accept(seconds) : refuse('A quick tunnel lasts from one minute to 30 days.');
}
