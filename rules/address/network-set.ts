// A set of addresses and networks that changes one entry at a time, and the question whether an address lies in one of them.
// Unlike an allow-list (allow-list.ts), it is large, changes often, and an empty one holds nothing.

import { type Address, formatAddress, parseAddress, parseNetwork } from './address.ts';

/** The leading bits of an address as a key. IPv4 as a signed word, which V8 keeps without a heap object. */
type Key = number | string;

/** Networks of one prefix length. */
type Level = Set<Key>;

/**
 * One set for each prefix length in use. A look-up masks the address for each of these: at most 33 for IPv4 and 129 for IPv6, in
 * practice two or three. Adding and removing costs the same however many entries there are.
 */
export class NetworkSet {
  readonly #ipv4 = new Map<number, Level>();
  readonly #ipv6 = new Map<number, Level>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Takes any spelling. A text that is no address and no range changes nothing. */
  add(text: string): void {
    const network = parseNetwork(text);
    if (network === null) return;
    const levels = this.#levelsOf(network.address);
    const level = levels.get(network.prefix) ?? new Set();
    levels.set(network.prefix, level);
    const before = level.size;
    level.add(keyOf(network.address, network.prefix));
    this.#size += level.size - before;
  }

  delete(text: string): void {
    const network = parseNetwork(text);
    if (network === null) return;
    const levels = this.#levelsOf(network.address);
    const level = levels.get(network.prefix);
    if (level?.delete(keyOf(network.address, network.prefix)) !== true) return;
    this.#size--;
    if (level.size === 0) levels.delete(network.prefix);
  }

  has(ip: string): boolean {
    if (this.#size === 0) return false;
    const address = parseAddress(ip);
    if (address === null) return false;
    for (const [prefix, level] of this.#levelsOf(address)) if (level.has(keyOf(address, prefix))) return true;
    return false;
  }

  #levelsOf({ version }: Address): Map<number, Level> {
    return version === 4 ? this.#ipv4 : this.#ipv6;
  }
}

function keyOf(address: Address, prefix: number): Key {
  if (address.version === 4) return prefix === 0 ? 0 : address.word & (-1 << (32 - prefix));
  if (prefix === 128) return formatAddress(address);
  const whole = prefix >> 4;
  const rest = prefix & 15;
  const groups = address.groups.slice(0, whole);
  if (rest > 0) groups.push(address.groups[whole]! & (0xffff << (16 - rest)));
  return groups.join(':');
}
