// The bot check's answer as a form carries it (spec 5, Login and Register). Whether it is true, control asks.

import { accept, type Parsed, refuse } from './parsed.ts';

/** The form field that holds the answer, whichever provider made it. */
export const botCheckField = 'bot-check';
/** altcha's answers are under 1 kB, Turnstile's at most 2,048 characters. */
export const botCheckMaxChars = 4096;

export function parseBotCheck(answer: string): Parsed<string> {
  const isPlausible = answer.trim() !== '' && answer.length <= botCheckMaxChars;
  return isPlausible ? accept(answer) : refuse('Please verify you are a human.');
}
