// Counts how often somebody does something; the numbers are in rules/limits.ts. It counts in memory. On Postgres, which
// replicas share, it counts in the database what guards sign-in.

import { networkKey } from '@underpass/rules/address/address.ts';
import { type RateLimitName, rateLimits } from '@underpass/rules/limits.ts';
import { CompiledQuery } from 'kysely';
import { type RateLimiterAbstract, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { hashToken } from '../secret/token.ts';
import type { Store } from '../store/store.ts';
import { createBoundedMemory } from './bounded-memory.ts';
import { LimitReached } from './limit-reached.ts';

export interface Limiter {
  /** Counts one; throws LimitReached when there were too many. */
  take(name: RateLimitName, key: string): Promise<void>;
  /** Takes back one that need not count after all. */
  giveBack(name: RateLimitName, key: string): Promise<void>;
}

// Every request counts here: a database write for each would itself be the load that these limits prevent.
const inMemoryAlways = new Set<RateLimitName>([
  'apiPerAddress',
  'apiPerCredential',
  'apiPerUser',
  'refusedPerCredential',
  'changePerCredential',
  'changePerUser',
  'dnsPerCredential',
  'dnsPerUser',
  'accessPage',
]);

const memoryLimiter = (name: RateLimitName): RateLimiterAbstract =>
  createBoundedMemory({ keyPrefix: name, points: rateLimits[name].points, duration: rateLimits[name].windowSeconds });

/** The shape of a pg client, over the store's own pool. */
const asClient = (store: Store) => ({
  query: async ({ text, values }: { text: string; values: unknown[] }) => {
    const result = await store.db.executeQuery(CompiledQuery.raw(text, values));
    return { rows: result.rows, rowCount: Number(result.numAffectedRows ?? result.rows.length) };
  },
});

const databaseLimiter = (store: Store, name: RateLimitName): RateLimiterAbstract =>
  new RateLimiterPostgres({
    storeClient: asClient(store),
    storeType: 'client',
    tableName: 'rate_limits',
    tableCreated: true,
    keyPrefix: name,
    points: rateLimits[name].points,
    duration: rateLimits[name].windowSeconds,
    clearExpiredByTimeout: false,
    // While the database does not answer, memory counts: an outage must not lift the limits.
    insuranceLimiter: memoryLimiter(name),
  });

const isShared = (store: Store, name: RateLimitName): boolean => store.kind === 'postgres' && !inMemoryAlways.has(name);

const limiterFor = (store: Store, name: RateLimitName): RateLimiterAbstract =>
  isShared(store, name) ? databaseLimiter(store, name) : memoryLimiter(name);

/** Never longer than the window, even if the clock was set back since it began. */
const retryAfterSeconds = (name: RateLimitName, waitMs: number): number =>
  Math.min(rateLimits[name].windowSeconds, Math.max(1, Math.ceil(waitMs / 1000)));

export function createLimiter(store: Store): Limiter {
  // The column holds 255 characters, and a hash keeps e-mails out of it.
  const keyIn = (name: RateLimitName, key: string): string => (isShared(store, name) ? hashToken(key) : key);
  const limiters = new Map<RateLimitName, RateLimiterAbstract>();
  const find = (name: RateLimitName): RateLimiterAbstract => {
    const limiter = limiters.get(name) ?? limiterFor(store, name);
    limiters.set(name, limiter);
    return limiter;
  };
  return {
    take: async (name, key) => {
      try {
        await find(name).consume(keyIn(name, key));
      } catch (error) {
        if (!(error instanceof RateLimiterRes)) throw error;
        throw new LimitReached(rateLimits[name].sentence, retryAfterSeconds(name, error.msBeforeNext));
      }
    },
    giveBack: async (name, key) => {
      await find(name).reward(keyIn(name, key));
    },
  };
}

/** Counts one; false when there were too many. */
export async function hasRoom(limiter: Limiter, name: RateLimitName, key: string): Promise<boolean> {
  try {
    await limiter.take(name, key);
    return true;
  } catch (error) {
    if (error instanceof LimitReached) return false;
    throw error;
  }
}

/** Counts against the limit for all callers together; false when that is used up. Once that is used up, counts per network, so a flood locks out only its own networks. */
export async function takeShare(
  limiter: Limiter,
  what: 'loginLink' | 'register' | 'deviceStart' | 'programRegistration' | 'programQuestion' | 'abuseReport',
  address: string,
): Promise<boolean> {
  try {
    await limiter.take(`${what}Overall`, 'all');
    return true;
  } catch (refusal) {
    if (!(refusal instanceof LimitReached)) throw refusal;
    // If both refuse, answer the first refusal: its window ends sooner.
    await limiter.take(`${what}PerNetwork`, networkKey(address)).catch(() => {
      throw refusal;
    });
    return false;
  }
}
