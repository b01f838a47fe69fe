// Buffers in which bytes wait to be written: taken when the first byte arrives, given back when the last has left.
// Memory that is used again stays in the processor's caches.

export interface PooledBuffer {
  readonly buffer: Buffer;
  readonly pool: BufferPool;
}

/** Free buffers of one size. */
export interface BufferPool {
  readonly bytes: number;
  readonly free: PooledBuffer[];
  /** The most free buffers; one more that comes back is left to the garbage collector. */
  readonly maxFree: number;
}

const createPool = (bytes: number, maxFree: number): BufferPool => ({ bytes, free: [], maxFree });
const small = createPool(16_384, 256);
const medium = createPool(65_536, 64);
const large = createPool(262_144, 16);

/** The pools that a writer uses: `first` for a little data, `bulk` once a bulk transfer is under way. */
export interface PoolChoice {
  readonly first: BufferPool;
  readonly bulk: BufferPool;
}

/**
 * Fewer writes cost less: 256 KiB instead of 64 KiB took a tenth off uploads on both sides (measured). A visitor that
 * stops reading holds two buffers, and there are many visitors, so theirs are small; downloads cost no more for it.
 */
export const poolsFor = {
  carrier: { first: medium, bulk: large },
  upstream: { first: small, bulk: large },
  visitor: { first: small, bulk: medium },
} satisfies Record<string, PoolChoice>;

export function takeBuffer(pool: BufferPool): PooledBuffer {
  return pool.free.pop() ?? { buffer: Buffer.allocUnsafeSlow(pool.bytes), pool };
}

/** Call it only when no reader looks at the bytes any more. */
export function giveBuffer(pooled: PooledBuffer): void {
  const { free, maxFree } = pooled.pool;
  if (free.length < maxFree) free.push(pooled);
}
