// Which texts some server takes for the same name: servers ignore case, each by its own rules, drop marks, normalise, and convert
// to a code page that lacks the character. A fold maps all these texts to one. It joins more texts than any single server does, so
// it may only make a decision stricter. Pure.

/**
 * The "best fit" of Windows: the letter or digit in ASCII that it writes for a character (here a capital, Greek and Cyrillic too)
 * that its code page lacks. Only pairs that no rule of Unicode relates; of all its code pages.
 */
const bestFit: Readonly<Record<string, string>> = {
  '0': '○◙☼',
  '8': '∞',
  A: 'ÆΑ',
  B: 'Ƀ',
  C: '¢©',
  D: 'ÐĐƉΔ♪♫',
  E: 'ΕƐ℮',
  F: 'ƑΦ',
  G: 'ǤꞬΓ',
  H: 'ĦҺ',
  I: 'Ɨ',
  L: '£ŁȽ∟└╘╙╚',
  N: '∩',
  O: 'ØŒƟΩ☺☻',
  P: 'Π₧℘',
  R: '®',
  S: 'Σ',
  T: 'ÞŦƫƮΘΤ┬╤╥╦',
  V: '√↓',
  Y: '¥',
  Z: 'Ƶ',
};
const nearest: ReadonlyMap<string, string> = new Map(
  Object.entries(bestFit).flatMap(([to, from]) => [...from].map((each) => [each, to] as const)),
);
const farLetters = new RegExp(`[${[...nearest.keys()].join('')}]`, 'g');

const outsideAscii = /[^\0-\x7f]/;

export const isAscii = (text: string): boolean => !outsideAscii.test(text);

/** The folds of a path or of a rule's path. Both sides of a comparison need the same one. */
export type Fold = (text: string) => string;

/** Folds a path in ASCII: lower case. A rule may hold more, which a server may bring to ASCII. */
export const foldAscii: Fold = (text) => (isAscii(text) ? text.toLowerCase() : lowerAscii(foldLetters(text)));

/**
 * Folds any other path: letters and digits alone, because code pages and collations differ most in signs. "S" is written once,
 * because "ß" is one S or two.
 */
export const foldNames: Fold = (text) =>
  foldLetters(text)
    .replace(/[^\p{Lu}\p{Ll}\p{Lo}\p{N}/]+/gu, '')
    .replace(/SS+/g, 'S');

/**
 * Upper case comes last: it depends on no neighbour, unlike lower case (the final sigma). Marks go, and so do characters that show
 * nothing. Iota goes whole: under another letter it is a mark for some servers and a letter of its own for others.
 */
const foldLetters: Fold = (text) =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .toUpperCase()
    .replace(farLetters, (char) => nearest.get(char) as string)
    .replace(/(?!\d)\p{Nd}/gu, digitOf)
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}Ι]+/gu, '');

/** Some servers read the digits of any script as numbers. Each script has its ten in one row. */
function digitOf(digit: string): string {
  const at = digit.codePointAt(0) as number;
  let value = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(at - value - 1))) value++;
  return String(value);
}

const lowerAscii = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Characters in which some server sees "/", "\", ".", "%", ";", "?" or "#": by a compatible form, or as the nearest of a code page. */
const signs =
  /[´¥¿\u037e\u066a\u2024-\u2026\u2044\u2047-\u2049\u20a9\u2100\u2101\u2105\u2106\u2215\u2216\u2488-\u249b\u33c2\u33c7\u33d8\ufe14\ufe16\ufe19\ufe30\ufe52\ufe54\ufe56\ufe5f\ufe68\ufe6a\uff03\uff05\uff0e\uff0f\uff1b\uff1f\uff3c\u{1f100}]/gu;
const nearestSign: Readonly<Record<string, string>> = {
  '´': '/',
  '\u2044': '/',
  '\u2215': '/',
  '¥': '\\',
  '₩': '\\',
  '\u2216': '\\',
  '٪': '%',
  '¿': '?',
};

/** The path with its structure in ASCII. Letters stay: a fold joins them, and `public` rules are written with them. */
export function plainSigns(path: string): string {
  if (isAscii(path)) return path;
  return path
    .replace(signs, (sign) => nearestSign[sign] ?? sign.normalize('NFKD'))
    .replace(/([./\\;%])[\p{M}\p{Default_Ignorable_Code_Point}\p{Z}]+/gu, '$1')
    .replace(/%.{1,5}/gsu, (triplet) => triplet.replace(/[^\0-\x7f]/g, (char) => char.normalize('NFKD')));
}
