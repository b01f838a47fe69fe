// What TXT answers say about a domain's challenge. Pure. design 4: the apex itself, or one label under it.

import { provesOwnership, verificationSubdomain } from '@underpass/rules/dns-record.ts';

export type ChallengeAnswer =
  /** The TXT value is there, exactly. */
  | 'found'
  /** The name servers answered, and it is not there. */
  | 'missing'
  /** No usable answer: SERVFAIL, time-out. Says nothing about the domain. */
  | 'unknown';

export const challengeNames = (apexName: string): readonly [string, string] => [apexName, `${verificationSubdomain}.${apexName}`];

/** One record arrives as the strings that it was split into. `unknown`: no usable answer. */
export type TxtAnswer = readonly (readonly string[])[] | 'unknown';

/** One name without a usable answer makes a negative unknown: the proof may be there. */
export function decideChallenge(answers: readonly TxtAnswer[], challenge: string): ChallengeAnswer {
  if (answers.some((answer) => answer !== 'unknown' && provesOwnership(answer, challenge))) return 'found';
  return answers.includes('unknown') ? 'unknown' : 'missing';
}
