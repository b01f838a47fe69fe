// What the authorization server for programs needs of the rest of control.

import type { CookieNames } from '../http/cookie.ts';
import type { Limiter } from '../limit/limiter.ts';
import type { VisitPolicy } from '../policy/find-visit-policy.ts';
import type { PolicyDeps } from '../policy/write-policy.ts';
import type { KeyRing } from '../secret/key-ring.ts';
import type { Store } from '../store/store.ts';
import type { ReadDocument } from './document.ts';

export interface OAuthDeps {
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly limiter: Limiter;
  readonly clock: () => number;
  readonly origin: string;
  readonly cookies: CookieNames;
  /** Undefined for a host without a policy. */
  readonly findPolicy: (host: string) => Promise<VisitPolicy | undefined>;
  readonly readDocument: ReadDocument;
  readonly feed: PolicyDeps['feed'];
}
