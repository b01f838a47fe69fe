// Control's refusals as errors of the command line.

import { Refusal } from '@underpass/control/api/refusal.ts';
import { ServerError } from './error.ts';

/** What the API would answer becomes an error of the command line. */
export function translateRefusal(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error;
  return new ServerError(error.code === 'missing' ? 'not-found' : 'refused', error.message);
}
