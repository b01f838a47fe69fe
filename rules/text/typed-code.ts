// Codes that people read on one screen and type on another.

import { accept, type Parsed, refuse } from '../parsed.ts';

/** Consonants without look-alikes: no words, nothing to mistake. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ';

interface TypedCode {
  readonly pattern: RegExp;
  /** `pick(n)` gives a random integer from 0 up to, not including, n. */
  readonly generate: (pick: (bound: number) => number) => string;
  /** Parses what people type: any case, with or without the hyphens. */
  readonly parse: (text: string) => Parsed<string>;
}

export function createTypedCode(groups: number, groupChars: number, message: string): TypedCode {
  const chars = groups * groupChars;
  const grouped = (letters: string): string => letters.match(new RegExp(`.{${groupChars}}`, 'g'))!.join('-');
  return {
    pattern: new RegExp(`^${Array(groups).fill(`[${alphabet}]{${groupChars}}`).join('-')}$`),
    generate: (pick) => grouped(Array.from({ length: chars }, () => alphabet[pick(alphabet.length)]!).join('')),
    parse: (text) => {
      const letters = text.length > 64 ? '' : text.replace(/[\s-]/g, '').replace(/[a-z]/g, (letter) => letter.toUpperCase());
      const isCode = letters.length === chars && [...letters].every((letter) => alphabet.includes(letter));
      return isCode ? accept(grouped(letters)) : refuse(message);
    },
  };
}
