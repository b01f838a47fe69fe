// What TXT answers say about a domain's challenge. Pure. design 4: strings of one TXT joined, exact match,
// the apex itself or `_underpass-challenge` under it.

import type { ChallengeAnswer } from '../port.ts';

export const challengeLabel = '_underpass-challenge';
export const challengePrefix = 'underpass-domain-verify=';

export const challengeNames = (apexName: string): readonly [string, string] => [apexName, `${challengeLabel}.${apexName}`];

/** One record arrives as the strings that it was split into; a resolver may hold many records. */
export type TxtRecords = readonly (readonly string[])[];

export function holdsChallenge(records: TxtRecords, challenge: string): boolean {
  const wanted = `${challengePrefix}${challenge}`;
  return challenge !== '' && records.some((strings) => strings.join('') === wanted);
}

export type TxtAnswer = TxtRecords | 'unknown';

export function decideChallenge(answers: readonly TxtAnswer[], challenge: string): ChallengeAnswer {
  if (answers.some((answer) => answer !== 'unknown' && holdsChallenge(answer, challenge))) return 'found';
  return answers.includes('unknown') ? 'unknown' : 'missing';
}
