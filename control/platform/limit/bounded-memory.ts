// A rate limit in memory that holds a bounded number of keys: the owner of one /48 can come from 65,536 networks, each a key.

import { type IRateLimiterOptions, RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';

/**
 * Room of each limit. A key takes about 500 bytes: 5 MB, and under 150 MB for all limits together. It is more than the e-mails
 * that `loginLinkOverall` lets through within the window of `loginMailPerEmail`, plus 1,000 networks by `loginLinkPerNetwork`: so
 * a flood of login links cannot push out a key that still counts.
 */
export const memoryKeysMost = 10_000;
/** Calls of one iterator. While it stands still, its set keeps every former table: 120 bytes for each call, so at most 120 kB. */
const iteratorCalls = 1_000;

/** Forgets the key that was used longest ago when it is full: active callers stay counted. */
class BoundedMemory extends RateLimiterMemory {
  /** The key used longest ago comes first. */
  readonly #keys = new Set<string>();
  /** One iterator for many calls: a new one steps over every deleted entry first. It never ends while the set is full. */
  #quietest = this.#keys.values();
  #calls = 0;

  override consume(key: string | number, points?: number, options?: Record<string, unknown>): Promise<RateLimiterRes> {
    if (++this.#calls % iteratorCalls === 0) this.#quietest = this.#keys.values();
    const isKnown = this.#keys.delete(String(key));
    if (!isKnown && this.#keys.size >= memoryKeysMost) this.#forget(this.#quietest.next().value);
    this.#keys.add(String(key));
    return super.consume(key, points, options);
  }

  #forget(key = ''): void {
    this.#keys.delete(key);
    void super.delete(key);
  }
}

export const createBoundedMemory = (options: IRateLimiterOptions): RateLimiterMemory => new BoundedMemory(options);
