// What TXT answers say about a domain's challenge. Pure. The apex itself, or one label under it.

import { provesOwnership, verificationSubdomain } from '@underpass/rules/names/dns-record.ts';

export type ChallengeAnswer =
  /** The TXT value is there, exactly. */
  | 'found'
  /** The name servers answered, and it is not there. */
  | 'missing'
  /** No usable answer: SERVFAIL, time-out. Says nothing about the domain. */
  | 'unknown';

export const challengeNames = (apexName: string): readonly [string, string] => [apexName, `${verificationSubdomain}.${apexName}`];

/** Each record is a list of strings, as DNS splits it. `unknown`: no usable answer. */
export type TxtAnswer = readonly (readonly string[])[] | 'unknown';

/** Answers `unknown`, not `missing`, if one of the names has no usable answer: the proof may be there. */
export function decideChallenge(answers: readonly TxtAnswer[], challenge: string): ChallengeAnswer {
  if (answers.some((answer) => answer !== 'unknown' && provesOwnership(answer, challenge))) return 'found';
  return answers.includes('unknown') ? 'unknown' : 'missing';
}
