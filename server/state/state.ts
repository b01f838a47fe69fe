// What control keeps and shares: database, bus, keys. Opened for the server and for the operator's commands alike.

import { join } from 'node:path';
import type { Bus } from '@underpass/control/bus/bus.ts';
import { createMemoryBus } from '@underpass/control/bus/memory.ts';
import { createKeyRing, type KeyRing } from '@underpass/control/secret/key-ring.ts';
import type { Store } from '@underpass/control/store/store.ts';
import type { Logger } from 'pino';
import { type ErrorCode, ServerError } from '../process/error.ts';
import { translateFault } from '../process/refusal.ts';
import type { Settings } from '../settings/settings.ts';
import { openHome, openKeys } from './home.ts';

/** The embedded database, in the home folder. */
export const databaseFile = 'underpass.db';

export interface State {
  readonly store: Store;
  readonly bus: Bus;
  readonly keyRing: KeyRing;
  readonly clock: () => number;
  /** As the clock was at the start, and on from there without its jumps. */
  readonly steady: () => number;
  readonly log: Logger;
  close(): Promise<void>;
}

/** Of performance.now(), by the clock of now: performance.timeOrigin may be off where the clock was set since. */
const startedAtMs = Date.now() - performance.now();

function told(code: ErrorCode, place: string, error: unknown): unknown {
  const fault = translateFault(error);
  if (fault instanceof ServerError) return fault;
  return new ServerError(code, `${place}${error instanceof Error ? error.message : String(error)}`, { cause: error });
}

/** Drivers are loaded when they are used: pg and NATS cost memory that a laptop need not pay. */
async function openStore({ home, databaseUrl }: Settings, log: Logger): Promise<Store> {
  if (databaseUrl === undefined) {
    const path = join(home, databaseFile);
    const { openSqliteStore } = await import('@underpass/control/store/sqlite.ts');
    return openSqliteStore(path).catch((error: unknown) => {
      throw told('database-unusable', `${path}: `, error);
    });
  }
  const { openPostgresStore } = await import('@underpass/control/store/postgres.ts');
  const onIdleError = (err: Error): void => log.warn({ err }, 'store: an idle connection broke');
  return openPostgresStore(databaseUrl, onIdleError).catch((error: unknown) => {
    throw told('database-unreachable', '', error);
  });
}

async function openBus(settings: Settings, log: Logger): Promise<Bus> {
  const onError = (err: unknown): void => log.error({ err }, 'bus: a message was not taken');
  if (settings.natsUrl === undefined) return createMemoryBus(onError);
  const { openNatsBus } = await import('@underpass/control/bus/nats.ts');
  return openNatsBus(settings.natsUrl, onError).catch((error: unknown) => {
    throw told('bus-unreachable', '', error);
  });
}

export async function openState(settings: Settings, log: Logger): Promise<State> {
  await openHome(settings.home);
  const keyRing = createKeyRing(await openKeys(settings.home, settings.masterKey));
  const store = await openStore(settings, log);
  const bus = await openBus(settings, log).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  return {
    store,
    bus,
    keyRing,
    log,
    clock: Date.now,
    steady: () => Math.round(startedAtMs + performance.now()),
    close: async () => {
      await bus.close();
      await store.close();
    },
  };
}
