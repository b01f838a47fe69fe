// A rate limit in memory with a bound: whoever has a /48 has 65,536 networks to come from, and each is a key.

import { type IRateLimiterOptions, RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';

/**
 * For each limit. A key takes some 500 bytes: 5 MB, and under 130 MB for all limits at once. More than the e-mails that
 * `loginLinkOverall` lets through in the window of `loginLinkPerEmail`, and 1,000 networks by `loginLinkPerNetwork`: no
 * flood of theirs makes one of those forgotten.
 */
export const memoryKeysMost = 10_000;

/** When full, the key that has been quiet longest is forgotten: who goes on is counted on. */
class BoundedMemory extends RateLimiterMemory {
  /** Quietest first. */
  readonly #keys = new Set<string>();
  /** One for good: a new one each time would step over all that was forgotten since. It never ends, the set is full. */
  readonly #quietest = this.#keys.values();

  override consume(key: string | number, points?: number, options?: Record<string, unknown>): Promise<RateLimiterRes> {
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
