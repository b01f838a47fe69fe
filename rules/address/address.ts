// IP addresses and CIDR ranges: strict parsing and one canonical text for each (RFC 4291 2.2, RFC 5952 4).
// No zone ids, no `1.2.3`, no leading zeros. IPv4-mapped IPv6 is the IPv4 address that it carries.

export type Address =
  | { readonly version: 4; readonly word: number }
  /** Eight groups of 16 bits. */
  | { readonly version: 6; readonly groups: readonly number[] };

export type Cidr = { readonly address: Address; readonly prefix: number };

/** The longest text of an address: eight groups with an IPv4 tail; longer input is refused unread. */
const addressMaxChars = 45;
const mappedPrefixBits = 96;
const colon = 58;
const dot = 46;
/** Results of scanGroups that are not a position. */
const noGap = -1;
const malformed = -2;

/** The 32 bits as an unsigned number, or -1. Allocates nothing: allow-lists call it per connection. */
export function parseIpv4(text: string): number {
  const length = text.length;
  if (length < 7 || length > 15) return -1;
  let word = 0;
  let octet = -1;
  let dots = 0;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code === dot) {
      if (octet < 0 || ++dots > 3) return -1;
      word = word * 256 + octet;
      octet = -1;
    } else if (code >= 48 && code <= 57 && octet !== 0) {
      octet = octet < 0 ? code - 48 : octet * 10 + code - 48;
      if (octet > 255) return -1;
    } else return -1;
  }
  return dots === 3 && octet >= 0 ? word * 256 + octet : -1;
}

/** The eight groups, or null. `::` stands for one zero group or more. */
export function parseIpv6(text: string): number[] | null {
  if (text.length < 2 || text.length > addressMaxChars) return null;
  const groups: number[] = [];
  const gap = scanGroups(text, groups);
  if (gap === malformed) return null;
  if (gap === noGap) return groups.length === 8 ? groups : null;
  if (groups.length > 7) return null;
  const tail = groups.splice(gap);
  while (groups.length < 8 - tail.length) groups.push(0);
  for (const group of tail) groups.push(group);
  return groups;
}

export function parseAddress(text: string): Address | null {
  const word = parseIpv4(text);
  if (word >= 0) return { version: 4, word };
  const groups = parseIpv6(text);
  return groups === null ? null : unmapAddress(groups);
}

/** `address/prefix`; the bits after the prefix are cleared, so that each range has one text. */
export function parseCidr(text: string): Cidr | null {
  const slash = text.indexOf('/');
  const digits = text.slice(slash + 1);
  if (slash < 0 || !/^(?:0|[1-9][0-9]{0,2})$/.test(digits)) return null;
  const prefix = Number(digits);
  const word = parseIpv4(text.slice(0, slash));
  if (word >= 0) return prefix <= 32 ? { address: { version: 4, word: maskWord(word, prefix) }, prefix } : null;
  const groups = parseIpv6(text.slice(0, slash));
  return groups === null || prefix > 128 ? null : ipv6Cidr(groups, prefix);
}

/** An address counts as the range that holds it alone. */
export function parseNetwork(text: string): Cidr | null {
  const address = parseAddress(text);
  return address === null ? parseCidr(text) : { address, prefix: address.version === 4 ? 32 : 128 };
}

export function formatAddress(address: Address): string {
  return address.version === 4 ? formatIpv4(address.word) : formatIpv6(address.groups);
}

export function formatCidr(cidr: Cidr): string {
  return `${formatAddress(cidr.address)}/${cidr.prefix}`;
}

/** The one text of an address, or null. Two addresses are equal exactly when these texts are. */
export function canonicalAddress(text: string): string | null {
  const address = parseAddress(text);
  return address === null ? null : formatAddress(address);
}

/** Limits count this as one source: an IPv4 address, or the IPv6 /64 that one household or server has to itself (RFC 6177). */
export function addressKey(text: string): string {
  const address = parseAddress(text);
  if (address === null) return text;
  return address.version === 4 ? formatAddress(address) : leading(address.groups, 4);
}

/** A block of addresses that one owner gets cheaply: an IPv4 /24, or the IPv6 /48 of a site (RFC 6177). */
export function networkKey(text: string): string {
  const address = parseAddress(text);
  if (address === null) return text;
  return address.version === 4 ? formatAddress(address).replace(/\.\d+$/, '') : leading(address.groups, 3);
}

const leading = (groups: readonly number[], count: number): string =>
  groups
    .slice(0, count)
    .map((group) => group.toString(16))
    .join(':');

/** True for `::ffff:0:0/96`, how a dual-stack socket names IPv4 peers (RFC 4291 2.5.5.2). */
export function isIpv4Mapped(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}

export function mappedWord(groups: readonly number[]): number {
  return groups[6]! * 0x10000 + groups[7]!;
}

function unmapAddress(groups: number[]): Address {
  return isIpv4Mapped(groups) ? { version: 4, word: mappedWord(groups) } : { version: 6, groups };
}

function ipv6Cidr(groups: number[], prefix: number): Cidr {
  const masked = groups.map((group, index) => maskGroup(group, prefix - 16 * index));
  if (prefix >= mappedPrefixBits && isIpv4Mapped(masked)) {
    return { address: unmapAddress(masked), prefix: prefix - mappedPrefixBits };
  }
  return { address: { version: 6, groups: masked }, prefix };
}

function maskWord(word: number, prefix: number): number {
  const hostCount = 2 ** (32 - prefix);
  return word - (word % hostCount);
}

function maskGroup(group: number, bits: number): number {
  if (bits >= 16) return group;
  return bits <= 0 ? 0 : group & (0xffff << (16 - bits));
}

/** Appends the written groups in one pass. Returns the index at which `::` stands among them, `noGap` or `malformed`. */
function scanGroups(text: string, groups: number[]): number {
  let gap = text.startsWith('::') ? 0 : noGap;
  let at = gap === 0 ? 2 : 0;
  while (at < text.length) {
    const end = endOfDigits(text, at);
    if (text.charCodeAt(end) === dot) return appendIpv4(text.slice(at), groups) ? gap : malformed;
    if (end === at || end - at > 4 || groups.length === 8) return malformed;
    groups.push(hexValue(text, at, end));
    if (end === text.length) return gap;
    at = end + 1;
    if (text.charCodeAt(end) !== colon || at === text.length) return malformed;
    if (text.charCodeAt(at) !== colon) continue;
    if (gap !== noGap) return malformed;
    gap = groups.length;
    at++;
  }
  return gap;
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  while (isHexDigit(text.charCodeAt(end))) end++;
  return end;
}

function hexValue(text: string, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    // Bit 32 makes a letter lower case; 'a' is 97.
    value = value * 16 + (code <= 57 ? code - 48 : (code | 32) - 87);
  }
  return value;
}

function isHexDigit(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 102) || (code >= 65 && code <= 70);
}

function appendIpv4(text: string, groups: number[]): boolean {
  const word = parseIpv4(text);
  if (word >= 0) groups.push(Math.floor(word / 0x10000), word % 0x10000);
  return word >= 0;
}

function formatIpv4(word: number): string {
  return [24, 16, 8, 0].map((shift) => (word >>> shift) & 255).join('.');
}

function formatIpv6(groups: readonly number[]): string {
  const gap = longestZeroRun(groups);
  const text = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':');
  if (gap.length < 2) return text(groups);
  return `${text(groups.slice(0, gap.start))}::${text(groups.slice(gap.start + gap.length))}`;
}

/** The first of the longest runs (RFC 5952 4.2.3). */
function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (end < groups.length && groups[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
  }
  return best;
}

/** A host as URLs write it: an IPv6 address in brackets. */
export const inBrackets = (host: string): string => (host.includes(':') ? `[${host}]` : host);

export const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');
