// Host names as the product stores and compares them: lower-case A-labels without a trailing dot.
// RFC 1123 2.1 for the labels, RFC 1035 2.3.4 for the lengths. No IP literals, no underscores.

import { parseUrl } from '../text/parse-url.ts';

export const labelMaxChars = 63;
export const hostnameMaxChars = 253;

/** One label. `xn---…` is none: it decodes to the same characters as the one without the third hyphen (RFC 3492 6.2). */
const label = /^(?!xn---)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
/** The characters allowed before conversion. A character that a URL parser would decode or cut at is refused. */
const asciiOrForeignLetters = /^[a-z0-9.\-\u0080-\u{10ffff}]+$/u;

/** The canonical name, or null. One trailing dot is dropped; one label alone (`localhost`) is a name. */
export function parseHostname(text: string): string | null {
  // Four bytes of text a character is the most that punycode's input needs; longer never fits 253.
  if (text.length > 4 * hostnameMaxChars) return null;
  const ascii = toAscii(lowerAscii(text));
  if (ascii === null) return null;
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  return isCanonicalHostname(name) ? name : null;
}

export function isCanonicalHostname(name: string): boolean {
  if (name.length === 0 || name.length > hostnameMaxChars) return false;
  const labels = name.split('.');
  return labels.every(isLabel) && !looksNumeric(labels.at(-1)!);
}

/** A-Z only: `toLowerCase` would turn the Kelvin sign into the letter k. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** True for the name itself and everything below it. Both sides canonical. */
export function isSameOrUnder(host: string, parent: string): boolean {
  return host === parent || host.endsWith(`.${parent}`);
}

/** A name that means this machine (RFC 6761 6.3). */
export const isLocalhostName = (host: string): boolean => isSameOrUnder(host, 'localhost');

/** The names of certificates that serve a host: itself, and one wildcard label in place of its first (RFC 9525 6.3). */
export const servingNames = (host: string): readonly [string, string] => [host, `*.${host.slice(host.indexOf('.') + 1)}`];

/** Stands for every name with one label more. A certificate's wildcard covers the same names. */
export const isWildcardName = (name: string): boolean => name.startsWith('*.');

/** The first domain that is an address: a wildcard is none. */
export const firstAddress = <Domain extends { readonly name: string }>(domains: readonly Domain[]): Domain | undefined =>
  domains.find(({ name }) => !isWildcardName(name));

/** Whether one of the names is the host, or a wildcard for it. */
export const coversHost = (names: readonly string[], host: string): boolean =>
  servingNames(host).some((name) => names.includes(name));

function isLabel(text: string): boolean {
  return text.length <= labelMaxChars && label.test(text);
}

/** A last label that an address parser would take for a number (WHATWG URL, ends in a number). */
function looksNumeric(last: string): boolean {
  return /^(?:[0-9]+|0x[0-9a-f]*)$/.test(last);
}

function toAscii(text: string): string | null {
  if (!asciiOrForeignLetters.test(text)) return null;
  if (!/[\u0080-\u{10ffff}]/u.test(text)) return text;
  // UTS 46 mapping as browsers do it; ends in a slash exactly when nothing was cut off as path or query.
  const url = parseUrl(`http://${text}/`);
  return url !== null && url.pathname === '/' && url.port === '' ? url.hostname : null;
}
