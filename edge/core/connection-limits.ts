// Decides how many connections of visitors and clients one edge process takes: in all, and from one address. Pure.

export interface ConnectionLimits {
  /** Connections on both public ports together. */
  readonly total: number;
  /** Connections from one IPv4 address or one IPv6 /64. */
  readonly perAddress: number;
}

/** What the process may use; Infinity if the system sets no limit. */
export interface ProcessLimits {
  readonly descriptors: number;
  readonly memoryBytes: number;
}

/** A fifth of the descriptors is left for hops, the feed, listeners and files. */
const descriptorShare = 0.8;
/** An idle TLS connection costs some 60 kB here. Half of the memory is left for bytes in transit and everything else. */
const connectionBytes = 64 * 1024;
const memoryShare = 0.5;
/** An office or a mobile network may share one address: some hundreds of browsers with six connections each. */
const addressMost = 2_000;
/** A quarter: however small the total is, it takes at least four addresses to fill it. */
const addressShare = 0.25;
/** The last tenth of the total is reserved for clients: without them visitors reach nothing. */
const clientShare = 0.1;

export function decideConnectionLimits(
  { descriptors, memoryBytes }: ProcessLimits,
  set: Partial<ConnectionLimits>,
): ConnectionLimits {
  const total = set.total ?? Math.floor(Math.min(descriptors * descriptorShare, (memoryBytes * memoryShare) / connectionBytes));
  return { total, perAddress: set.perAddress ?? Math.max(1, Math.min(addressMost, Math.floor(total * addressShare))) };
}

/** The number of connections above which only clients are admitted. */
export const visitorLimit = ({ total }: ConnectionLimits): number => total - Math.floor(total * clientShare);

/**
 * HTTP/2 requests of one address beyond the first of each connection: a page asks for a hundred at once, for a moment.
 * An operator who allows one address more connections than that expects many users behind it.
 */
export const extraRequestLimit = ({ total, perAddress }: ConnectionLimits): number =>
  Math.max(perAddress, Math.floor(total * addressShare));
