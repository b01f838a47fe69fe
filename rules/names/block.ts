// What an operator blocks for the whole service: an address, a network, or a name with everything below it.

import { formatAddress, formatCidr, parseNetwork } from '../address/address.ts';
import { accept, type Parsed, refuse } from '../parsed.ts';
import { unwrapHost } from '../text/typed-list.ts';
import { isSameOrUnder, parseHostname } from './hostname.ts';

export interface BlockTarget {
  readonly kind: 'address' | 'name';
  /** Canonical. */
  readonly value: string;
}

export const blockReasonMaxChars = 200;
/** Each takes some 150 bytes in every edge process. */
export const mostBlocks = 100_000;

/**
 * The widest networks. The largest that registries give to one holder are an IPv4 /8 and an IPv6 /19: a wider block is a typing
 * mistake that would close the service.
 */
const fewestPrefixBits = { 4: 8, 6: 19 } as const;

/** A name may be pasted as an address of a page, and may begin with `*.`: a block holds the names below it anyway. */
export function parseBlock(text: string): Parsed<BlockTarget> {
  const trimmed = text.trim();
  const network = parseNetwork(trimmed);
  if (network !== null) {
    const { version } = network.address;
    const fewest = fewestPrefixBits[version];
    if (network.prefix < fewest) return refuse(`A block of IPv${version} addresses must be /${fewest} or smaller.`);
    const isOne = network.prefix === (version === 4 ? 32 : 128);
    return accept({ kind: 'address', value: isOne ? formatAddress(network.address) : formatCidr(network) });
  }
  const name = parseHostname(unwrapHost(trimmed).replace(/^\*\./, ''));
  return name?.includes('.')
    ? accept({ kind: 'name', value: name })
    : refuse('Please enter an IP address, a network in CIDR notation, or a domain name.');
}

export function parseBlockReason(text: string): Parsed<string> {
  const reason = text.trim();
  if (reason === '') return refuse('Say why: other operators read it later.');
  return reason.length <= blockReasonMaxChars
    ? accept(reason)
    : refuse(`The reason may have at most ${blockReasonMaxChars} characters.`);
}

/** The name and those above it, without the last label alone: a block of any of them holds the name. */
export function blockingNames(host: string): readonly string[] {
  const labels = host.split('.');
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join('.'));
}

/** A name of the service itself that the block would hold; undefined if there is none. */
export const heldOwnName = (name: string, ownHosts: readonly string[]): string | undefined =>
  ownHosts.find((own) => isSameOrUnder(own, name));

export const blockedNameMessage = (host: string): string => `'${host}' is blocked. Please write to the operator of this service.`;
