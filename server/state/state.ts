// What control stores and shares: database, bus, keys. The server and the operator's commands both open it.

import type { Bus } from '@underpass/control/platform/bus/bus.ts';
import { createMemoryBus } from '@underpass/control/platform/bus/memory.ts';
import { Dependency } from '@underpass/control/platform/dependency/dependency.ts';
import { createKeyRing, type KeyRing } from '@underpass/control/platform/secret/key-ring.ts';
import type { Store } from '@underpass/control/platform/store/store.ts';
import type { Logger } from 'pino';
import { type ErrorCode, ServerError } from '../process/error.ts';
import { isDamage, translateFault } from '../process/refusal.ts';
import type { Settings } from '../settings/settings.ts';
import { databasePath } from './database-file.ts';
import { openHome, openKeys } from './home.ts';

export interface State {
  readonly store: Store;
  readonly bus: Bus;
  readonly keyRing: KeyRing;
  readonly clock: () => number;
  /** The time at the start plus the time since, so that jumps of the clock do not affect it. */
  readonly steady: () => number;
  readonly log: Logger;
  /** What this process asks over the network; the embedded database and bus are none. */
  readonly dependencies: readonly Dependency[];
  close(): Promise<void>;
}

/** Wall-clock time at performance.now() = 0. performance.timeOrigin is wrong if the clock was set since the start. */
const startedAtMs = Date.now() - performance.now();

function told(code: ErrorCode, place: string, error: unknown): unknown {
  const fault = translateFault(error);
  if (fault instanceof ServerError) return fault;
  return new ServerError(code, `${place}${error instanceof Error ? error.message : String(error)}`, { cause: error });
}

/** Loads the drivers only when used: pg and NATS cost memory that a laptop does not need. */
async function openStore({ home, databaseUrl }: Settings, log: Logger, dependency: Dependency): Promise<Store> {
  if (databaseUrl === undefined) {
    const path = databasePath(home);
    const { openSqliteStore } = await import('@underpass/control/platform/store/sqlite.ts');
    return openSqliteStore(path).catch((error: unknown) => {
      throw told(isDamage(error) ? 'database-damaged' : 'database-unusable', `${path}: `, error);
    });
  }
  const { openPostgresStore } = await import('@underpass/control/platform/store/postgres.ts');
  const onIdleError = (err: Error): void => log.warn({ err }, 'store: an idle connection broke');
  return openPostgresStore(databaseUrl, onIdleError, undefined, dependency).catch((error: unknown) => {
    throw told('database-unreachable', '', error);
  });
}

async function openBus({ natsUrl: url }: Settings, log: Logger, dependency: Dependency): Promise<Bus> {
  const onError = (err: unknown): void => log.error({ err }, 'bus: a message was not taken');
  if (url === undefined) return createMemoryBus(onError);
  const { openNatsBus } = await import('@underpass/control/platform/bus/nats.ts');
  return openNatsBus({ url, onError, dependency });
}

export async function openState(settings: Settings, log: Logger): Promise<State> {
  await openHome(settings.home);
  const database = new Dependency('database', { clock: Date.now, log });
  const broker = new Dependency('bus', { clock: Date.now, log });
  const store = await openStore(settings, log, database);
  try {
    // Keys are opened after the database: keys without a database are the sign of a lost one.
    const keyRing = createKeyRing(await openKeys(settings.home, settings.masterKey));
    const bus = await openBus(settings, log, broker);
    return {
      store,
      bus,
      keyRing,
      log,
      dependencies: [
        ...(settings.databaseUrl === undefined ? [] : [database]),
        ...(settings.natsUrl === undefined ? [] : [broker]),
      ],
      clock: Date.now,
      steady: () => Math.round(startedAtMs + performance.now()),
      close: async () => {
        await bus.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}
