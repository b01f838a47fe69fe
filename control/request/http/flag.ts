// A parameter of a query that is '1' or left out.

import { refuse } from './refusal.ts';

/** `name`: as the message begins. */
export const parseFlag = (name: string, text: string | undefined): boolean =>
  text !== undefined && (text === '1' || refuse('invalid', `${name} must be '1', or left out.`));
