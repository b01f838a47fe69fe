// The bot check of the public forms: altcha, hosted here, or Turnstile by setting. Both refuse an answer used twice.

import type { BotCheck } from '@underpass/rules/resource.ts';
import type { Logger } from 'pino';
import type { Clock, ControlSettings } from '../deps.ts';
import type { KeyRing } from '../secret/key-ring.ts';
import type { Store } from '../store/store.ts';
import { createAltcha } from './altcha.ts';
import { createTurnstile } from './turnstile.ts';

export interface BotCheckPort {
  /** What the form needs to show it. */
  describe(): BotCheck;
  /** A new puzzle; undefined where another server makes them. */
  createChallenge(): Promise<object | undefined>;
  /** True once per right answer. */
  verify(answer: string, address: string): Promise<boolean>;
}

export interface BotCheckDeps {
  readonly settings: Pick<ControlSettings, 'turnstile' | 'origin'>;
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly log: Logger;
}

export const createBotCheck = ({ settings, store, keyRing, clock, log }: BotCheckDeps): BotCheckPort =>
  settings.turnstile
    ? createTurnstile({ ...settings.turnstile, origin: settings.origin, log })
    : createAltcha({ store, clock, secret: keyRing.derive('altcha'), cost: 5_000 });
