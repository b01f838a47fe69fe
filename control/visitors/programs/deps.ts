// What the authorization server for programs needs of the rest of control.

import type { Limiter } from '../../platform/limit/limiter.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import type { Store } from '../../platform/store/store.ts';
import type { CookieNames } from '../../request/http/cookie.ts';
import type { SignInPolicy } from '../policies/find-sign-in-policy.ts';
import type { PolicyDeps } from '../policies/write-policy.ts';
import type { ReadDocument } from './document.ts';

export interface OAuthDeps {
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly limiter: Limiter;
  readonly clock: () => number;
  readonly origin: string;
  readonly cookies: CookieNames;
  /** Undefined for a host without a policy. */
  readonly findPolicy: (host: string) => Promise<SignInPolicy | undefined>;
  readonly readDocument: ReadDocument;
  readonly feed: PolicyDeps['feed'];
}
