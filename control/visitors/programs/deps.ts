// What the authorization server for programs needs of the rest of control.

import type { CallDeps } from '../../request/deps.ts';
import type { SignInPolicy } from '../policies/find-sign-in-policy.ts';
import type { PolicyDeps } from '../policies/write-policy.ts';
import type { ReadDocument } from './document.ts';

export interface OAuthDeps extends Pick<CallDeps, 'store' | 'keyRing' | 'limiter' | 'clock' | 'origin' | 'cookies'> {
  /** Undefined for a host without a policy. */
  readonly findPolicy: (host: string) => Promise<SignInPolicy | undefined>;
  readonly readDocument: ReadDocument;
  readonly feed: PolicyDeps['feed'];
}
