// How often somebody may do something: the numbers are in rules/limits.ts, the counting is here.
// Counted in memory; what guards sign-in is counted in the database where several replicas share one.

import { networkKey } from '@underpass/rules/address.ts';
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
}

// Every request takes one of these: a write to the database for each would be the load that they are against.
const inMemoryAlways = new Set<RateLimitName>(['apiPerAddress', 'apiPerUser', 'changePerProject', 'dnsLookupPerUser']);

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
    // A database that does not answer must not open the door: memory counts on.
    insuranceLimiter: memoryLimiter(name),
  });

const isShared = (store: Store, name: RateLimitName): boolean => store.kind === 'postgres' && !inMemoryAlways.has(name);

const limiterFor = (store: Store, name: RateLimitName): RateLimiterAbstract =>
  isShared(store, name) ? databaseLimiter(store, name) : memoryLimiter(name);

/** Never longer than the window, whatever the clock did since it began. */
const retryAfterSeconds = (name: RateLimitName, waitMs: number): number =>
  Math.min(rateLimits[name].windowSeconds, Math.max(1, Math.ceil(waitMs / 1000)));

export const createLimiter = (store: Store): Limiter => {
  // The column holds 255 characters, and no e-mail has to stay in it.
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
  };
};

/** Counts one for all; where that is used up, for the network that it comes from: a flood keeps out nobody from elsewhere. */
export const takeShare = async (
  limiter: Limiter,
  what: 'loginLink' | 'register' | 'deviceStart',
  address: string,
): Promise<void> => {
  try {
    await limiter.take(`${what}Overall`, 'all');
  } catch (refusal) {
    if (!(refusal instanceof LimitReached)) throw refusal;
    // The refusal of both is the first one's: its window ends sooner.
    await limiter.take(`${what}PerNetwork`, networkKey(address)).catch(() => {
      throw refusal;
    });
  }
};
