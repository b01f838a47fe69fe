// Memory in which bytes wait to be written: taken when the first byte comes, given back when the last has left.
// What is in use again and again stays in the processor's caches; that is what it is for.

export interface Slab {
  readonly buffer: Buffer;
  readonly kind: SlabKind;
}

export interface SlabKind {
  readonly bytes: number;
  readonly free: Slab[];
  /** More than these are left to the collector. */
  readonly mostFree: number;
}

const kind = (bytes: number, mostFree: number): SlabKind => ({ bytes, free: [], mostFree });
const small = kind(16_384, 256);
const middle = kind(65_536, 64);
const large = kind(262_144, 16);

/** Which memory a writer takes: for little, and where bulk is on its way. */
export interface SlabChoice {
  readonly first: SlabKind;
  readonly bulk: SlabKind;
}

/**
 * Fewer writes are cheaper: measured, 256 KiB instead of 64 take a tenth off uploads, on both sides. A visitor that has
 * stopped reading holds two, and there are many visitors: theirs are small, which costs downloads nothing.
 */
export const slabsFor = {
  carrier: { first: middle, bulk: large },
  upstream: { first: small, bulk: large },
  visitor: { first: small, bulk: middle },
} satisfies Record<string, SlabChoice>;

export function takeSlab(kind: SlabKind): Slab {
  return kind.free.pop() ?? { buffer: Buffer.allocUnsafeSlow(kind.bytes), kind };
}

/** Only where nobody looks at its bytes any more. */
export function giveSlab(slab: Slab): void {
  const { free, mostFree } = slab.kind;
  if (free.length < mostFree) free.push(slab);
}
