// Free text that ends up in mails, lists and logs: one visible line, bounded.
// Not for names that become part of a URL or of DNS; those have rules of their own.

import { accept, type Parsed, refuse } from '../parsed.ts';

/** The joiners that Persian, Hindi and emoji are written with; on their own they show nothing. */
const joiners = /[\u200c\u200d]/g;
/** Control characters, line separators, and the marks that reverse or hide the text around them. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

export function parseSingleLine(text: string, bounds: { required: boolean; maxChars: number }): Parsed<string> {
  const value = text.trim();
  const shown = value.replace(joiners, '');
  if (shown.trim() === '') return bounds.required ? refuse('Required.') : accept('');
  if (value.length > bounds.maxChars) return refuse(`Must be at most ${bounds.maxChars} characters; this has ${value.length}.`);
  if (invisible.test(shown)) return refuse('Must be one line of visible characters.');
  return accept(value);
}
