// The short code that a person carries from a terminal to the browser when the CLI signs in.

import { accept, type Parsed, refuse } from '../parsed.ts';

/** Consonants without look-alikes: no words, nothing to mistake. 20^8 is 2.5e10, tried 20 times per quarter hour. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ';
const codeChars = 8;
export const userCodePattern = new RegExp(`^[${alphabet}]{${codeChars / 2}}-[${alphabet}]{${codeChars / 2}}$`);

/** `pick(n)` gives a random integer from 0 up to, not including, n. */
export function generateUserCode(pick: (bound: number) => number): string {
  const letters = Array.from({ length: codeChars }, () => alphabet[pick(alphabet.length)]!).join('');
  return grouped(letters);
}

/** Parses what people type: any case, with or without the hyphen. */
export function parseUserCode(text: string): Parsed<string> {
  const letters = text.length > 64 ? '' : text.replace(/[\s-]/g, '').replace(/[a-z]/g, (letter) => letter.toUpperCase());
  const isCode = letters.length === codeChars && [...letters].every((letter) => alphabet.includes(letter));
  return isCode ? accept(grouped(letters)) : refuse('Enter the code that the terminal shows, such as BCDF-GHJK.');
}

function grouped(letters: string): string {
  return `${letters.slice(0, codeChars / 2)}-${letters.slice(codeChars / 2)}`;
}
