// What the API needs of DNS. An implementation bounds the time, and never throws for what the network does.

import type { ChallengeAnswer } from './core/challenge.ts';

export interface DnsPort {
  checkChallenge(apexName: string, challenge: string): Promise<ChallengeAnswer>;
  /** A and AAAA addresses; empty when there are none or no answer came. */
  lookup(host: string): Promise<readonly string[]>;
}
