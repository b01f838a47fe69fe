// The bot check's answer in a form (spec 5, Login and Register). This file checks that it is there; control verifies it.

import { accept, type Parsed, refuse } from '../parsed.ts';

/** The form field that holds the answer, whichever provider made it. */
export const botCheckField = 'bot-check';
/** altcha's answers are under 1 kB, Turnstile's at most 2,048 characters. */
export const botCheckMaxChars = 4096;

export function parseBotCheck(answer: string): Parsed<string> {
  const isPlausible = answer.trim() !== '' && answer.length <= botCheckMaxChars;
  return isPlausible ? accept(answer) : refuse('Please verify you are a human.');
}
