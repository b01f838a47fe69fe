// What the API needs of DNS. Bounded in time by whoever implements it; never throws for what the network does.

export type ChallengeAnswer =
  /** The TXT value is there, exactly. */
  | 'found'
  /** The name servers answered, and it is not there. */
  | 'missing'
  /** No usable answer: SERVFAIL, time-out. Says nothing about the domain. */
  | 'unknown';

export interface DnsPort {
  checkChallenge(apexName: string, challenge: string): Promise<ChallengeAnswer>;
  /** A and AAAA addresses; empty when there are none or no answer came. */
  lookup(host: string): Promise<readonly string[]>;
}
