// The payload of OFFER: the hosts and ports for which a client has upstreams, and which of these answer their probe.
// docs/protocol.md 7, Offers.

import { servingNames } from '@underpass/rules/names/hostname.ts';
import { WireError } from './frame.ts';
import type { StreamKind } from './open.ts';

export interface Offer {
  /** A host name, which may begin with `*.` for one label; `:80`, `:443`, or `*` for everything else. */
  readonly key: string;
  readonly healthy: boolean;
  /** Asks for TIMES on the streams that this entry serves. */
  readonly times?: boolean;
}

export const maxOffers = 512;
/** The longest host name. */
const maxKeyBytes = 253;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

const flags = { healthy: 1, times: 2 };

/** Each entry: u8 flags, u8 length, key. */
export function encodeOffers(offers: readonly Offer[]): Uint8Array {
  if (offers.length > maxOffers) throw new RangeError(`${offers.length} offers, at most ${maxOffers}`);
  const bytes: number[] = [];
  for (const offer of offers) {
    const key = encoder.encode(offer.key);
    if (key.length === 0 || key.length > maxKeyBytes) throw new RangeError(`offer key of ${key.length} bytes`);
    bytes.push((offer.healthy ? flags.healthy : 0) | (offer.times ? flags.times : 0), key.length, ...key);
  }
  if (bytes.length > 65_535) throw new RangeError('offers longer than 65535 bytes');
  return Uint8Array.from(bytes);
}

export function parseOffers(payload: Uint8Array): Offer[] {
  const offers: Offer[] = [];
  let at = 0;
  while (at < payload.length) {
    const keyBytes = payload[at + 1] ?? 0;
    const end = at + 2 + keyBytes;
    if (end > payload.length || keyBytes === 0 || keyBytes > maxKeyBytes)
      throw new WireError('protocol', 'OFFER with a false key length');
    if (offers.length === maxOffers) throw new WireError('protocol', `OFFER with more than ${maxOffers} entries`);
    const [key, given] = [decodeKey(payload.subarray(at + 2, end)), payload[at]!];
    offers.push({ key, healthy: (given & flags.healthy) !== 0, ...((given & flags.times) === 0 ? {} : { times: true }) });
    at = end;
  }
  return offers;
}

function decodeKey(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new WireError('protocol', 'OFFER key is not UTF-8');
  }
}

type OfferAnswer = 'healthy' | 'unhealthy' | 'none';

/** Does the peer ask for TIMES? `key`: of the one entry that matters; null if all do. */
export function asksTimes(offers: readonly Offer[] | null, key: string | null): boolean {
  return offers?.some((offer) => offer.times === true && (key === null || offer.key === key)) ?? false;
}

/** Compiles a client's offers to a look-up: does it serve this host or port, and does that upstream answer its probe? */
export function compileOffers(offers: readonly Offer[] | null): (kind: StreamKind, host: string) => OfferAnswer {
  if (offers === null) return () => 'healthy';
  const byKey = new Map(offers.map((offer) => [offer.key, offer.healthy ? 'healthy' : 'unhealthy'] as const));
  return (kind, host) =>
    byKey.get(host) ?? byKey.get(servingNames(host)[1]) ?? byKey.get(portKey(kind)) ?? byKey.get('*') ?? 'none';
}

/** The ports of an ingress tunnel are offered by number; an http stream matches none of them. */
function portKey(kind: StreamKind): string {
  if (kind === 'ingress-80') return ':80';
  return kind === 'ingress-443' ? ':443' : '';
}
