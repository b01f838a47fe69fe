// The bot check of the public forms: self-hosted altcha, or Turnstile if the settings say so. Both accept an answer once.

import type { BotCheck as BotCheckFacts } from '@underpass/rules/entity/resource.ts';
import { refuse } from '../../request/http/refusal.ts';

export interface BotCheck {
  /** What a form needs to show the check. */
  describe(): BotCheckFacts;
  /** A new puzzle; undefined if another server makes them. */
  createChallenge(): Promise<object | undefined>;
  /** True the first time for a right answer. */
  verify(answer: string, address: string): Promise<boolean>;
}

/** Refuses without a right answer. */
export async function passBotCheck(botCheck: BotCheck, answer: string, address: string): Promise<void> {
  if (!(await botCheck.verify(answer, address))) refuse('invalid', 'Please verify you are a human.');
}
