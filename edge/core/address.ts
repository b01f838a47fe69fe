// IP addresses as the bytes of a PROXY header, and the visitor's address as the kernel gives it.

import { canonicalAddress, formatAddress, parseIpv4, parseIpv6 } from '@underpass/rules/address/address.ts';

/** The kernel's text without a zone; a mapped address as IPv4. Empty if the socket has closed already. */
export function visitorAddress(text: string | undefined): string {
  if (text === undefined) return '';
  const zone = text.indexOf('%');
  return canonicalAddress(zone < 0 ? text : text.slice(0, zone)) ?? '';
}

/** 4 or 16 bytes, or null if the text is not an address. */
export function addressBytes(text: string): Uint8Array | null {
  const word = parseIpv4(text);
  if (word >= 0) return Uint8Array.of(word >>> 24, word >>> 16, word >>> 8, word);
  const groups = parseIpv6(text);
  return groups === null ? null : Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 255]));
}

/** Canonical text of 4 or 16 bytes; a mapped address as IPv4. */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const text = ipv6Text(bytes);
  return canonicalAddress(text) ?? text;
}

/** IPv6 text of 16 bytes, for mapped addresses too. */
export function ipv6Text(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] as number) << 8) | (bytes[2 * i + 1] as number));
  return formatAddress({ version: 6, groups });
}
