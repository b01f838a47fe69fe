// What most calls need besides the platform. Each area names the few that it takes.

import type { FeedPort } from '../edges/feed/port.ts';
import type { PlatformDeps } from '../platform/deps.ts';
import type { CookieNames } from './http/cookie.ts';

export interface CallDeps extends PlatformDeps {
  readonly feed: Pick<FeedPort, 'tunnelsChanged'>;
  readonly cookies: CookieNames;
  readonly origin: string;
}
