// What the API needs of DNS. An implementation bounds the time, and never throws for what the network does.

import type { DnsProviderName } from '@underpass/rules/names/dns-provider.ts';
import type { ChallengeAnswer } from './core/challenge.ts';
import type { DnsAnswer } from './resolver.ts';
import type { SharedAnswers } from './shared-answers.ts';

export interface DnsPort {
  checkChallenge(apexName: string, challenge: string): Promise<ChallengeAnswer>;
  /** A and AAAA addresses; empty when there are none. It takes as long whether addresses were hidden or there are none. */
  lookup(host: string): Promise<DnsAnswer>;
  /** Where a CNAME leads, in lower case without the dot of the root; undefined without one, or without an answer. */
  alias(name: string): Promise<string | undefined>;
  /** The same without that pause, shared by all callers: for our own hosts, and hosts under domains that a project has verified. */
  readonly hosts: SharedAnswers<DnsAnswer>;
  /** Who serves a zone; `other` is any whom we do not know by name, or no answer. */
  readonly providers: SharedAnswers<DnsProviderName | 'other'>;
}
