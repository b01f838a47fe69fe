// How many connections of visitors and clients one process of an edge holds: in all, and of one address. Pure.

export interface ConnectionLimits {
  /** Of both public ports together. */
  readonly total: number;
  /** Of one IPv4 address or one IPv6 /64. */
  readonly perAddress: number;
}

/** What the process may use; Infinity where the system sets no limit. */
export interface ProcessLimits {
  readonly descriptors: number;
  readonly memoryBytes: number;
}

/** A fifth of the descriptors stays for hops, the feed, listeners and files. */
const descriptorShare = 0.8;
/** An idle TLS connection costs some 60 kB here; half of the memory stays for bytes on their way and for everything else. */
const connectionBytes = 64 * 1024;
const memoryShare = 0.5;
/** An office or a mobile network behind one address: some hundreds of browsers with six connections each. */
const addressMost = 2_000;
/** Whatever the total is, it takes more than a handful of addresses to fill it. */
const addressShare = 0.25;
/** The last tenth of the total is kept for clients: visitors are of no use without them. */
const clientShare = 0.1;

export function decideConnectionLimits(
  { descriptors, memoryBytes }: ProcessLimits,
  set: Partial<ConnectionLimits>,
): ConnectionLimits {
  const total = set.total ?? Math.floor(Math.min(descriptors * descriptorShare, (memoryBytes * memoryShare) / connectionBytes));
  return { total, perAddress: set.perAddress ?? Math.max(1, Math.min(addressMost, Math.floor(total * addressShare))) };
}

/** From here on visitors are turned away, and clients are still let in. */
export const visitorLimit = ({ total }: ConnectionLimits): number => total - Math.floor(total * clientShare);

/**
 * Requests of HTTP/2 beside the first of their connection, of one address: a page asks for a hundred at once, for a moment.
 * Whoever allows one address more connections than that means that many are behind it.
 */
export const extraRequestLimit = ({ total, perAddress }: ConnectionLimits): number =>
  Math.max(perAddress, Math.floor(total * addressShare));
