// What handlers work with: the deps of control and what control makes of them.

import type { BotCheckPort } from './auth/bot-check.ts';
import type { ControlDeps } from './deps.ts';
import type { CookieNames } from './http/cookie.ts';
import type { JobQueue } from './job/queue.ts';
import type { Limiter } from './limit/limiter.ts';
import type { Turns } from './limit/turns.ts';

export interface Parts extends ControlDeps {
  readonly botCheck: BotCheckPort;
  readonly cookies: CookieNames;
  readonly jobs: JobQueue;
  readonly limiter: Limiter;
  /** DNS questions by person. */
  readonly dnsTurns: Turns;
}
