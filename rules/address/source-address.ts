// One allow rule of a security group, and the list of them (spec 5, Source address).

import { limits } from '../limits.ts';
import { accept, addWith, type Parsed, parseEach, refuse } from '../parsed.ts';
import { splitEntries } from '../text/typed-list.ts';
import { addressKey, type Cidr, formatAddress, formatCidr, parseAddress, parseCidr } from './address.ts';

/** Canonical text: lower case, shortest form, no bits after the prefix, no prefix of one address, IPv4 for IPv4-mapped. */
export function parseSourceAddress(text: string): Parsed<string> {
  const trimmed = text.trim();
  const address = parseAddress(trimmed);
  if (address !== null) return accept(formatAddress(address));
  const cidr = parseCidr(trimmed);
  return cidr === null
    ? refuse('Please enter a valid IP/CIDR.')
    : accept(isOneAddress(cidr) ? formatAddress(cidr.address) : formatCidr(cidr));
}

const isOneAddress = ({ address, prefix }: Cidr): boolean => prefix === (address.version === 4 ? 32 : 128);

/** The rule for a visitor's own address: their IPv4 address, or the IPv6 /64 of their network, in which addresses change daily. */
export function ownAddressRule(address: string): Parsed<string> {
  const rule = parseSourceAddress(address);
  return rule.ok && rule.value.includes(':') ? parseSourceAddress(`${addressKey(address)}::/64`) : rule;
}

/** The rules of the list that let every address in. */
export const openRules = (list: readonly string[]): readonly string[] =>
  list.filter((rule) => rule === '0.0.0.0/0' || rule === '::/0');

export const addSourceAddress = addWith(parseSourceAddress);

/** What a form or a call sends: the list, and what was typed and not yet added (`pending`). */
export function parseAllowList(list: readonly string[], pending = ''): Parsed<readonly string[]> {
  const rules = parseEach([...list, ...splitEntries(pending)], parseSourceAddress, limits.rulesPerGroup, 'rules');
  return rules.ok && rules.value.length === 0 ? refuse('Provide at least one rule.') : rules;
}
