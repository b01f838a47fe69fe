// What the inspector's port serves from.

import type { InspectState } from '@underpass/rules/inspect/exchange.ts';
import type { ExchangeLog } from './exchange-log.ts';
import type { Replays } from './replay.ts';
import type { CheckSignature } from './view.ts';

export interface InspectSources {
  readonly log: ExchangeLog;
  readonly replays: Replays;
  readonly check: CheckSignature;
  readonly state: () => InspectState;
  readonly version: string;
}
