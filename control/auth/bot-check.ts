// The bot check of the public forms: altcha, hosted here, or Turnstile by setting. Both refuse an answer used twice.

import type { BotCheck as BotCheckFacts } from '@underpass/rules/resource.ts';
import { refuse } from '../http/refusal.ts';

export interface BotCheck {
  /** What the form needs to show it. */
  describe(): BotCheckFacts;
  /** A new puzzle; undefined where another server makes them. */
  createChallenge(): Promise<object | undefined>;
  /** True once per right answer. */
  verify(answer: string, address: string): Promise<boolean>;
}

/** Refuses unless a person, or something as patient, filled in the form. */
export const passBotCheck = async (botCheck: BotCheck, answer: string, address: string): Promise<void> => {
  if (!(await botCheck.verify(answer, address))) refuse('invalid', 'Please verify you are a human.');
};
