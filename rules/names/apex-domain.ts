// The apex of a domain, the name that a project proves to own (spec 5, Domain add).

import { accept, type Parsed, refuse } from '../parsed.ts';
import { parseHostname } from './hostname.ts';

/** The registrable domain of a host by the public suffix list; null if no known suffix matches. */
export type RegistrableDomain = (host: string) => string | null;

export const apexDomainMessage = "Domain must be a valid apex domain, e.g. 'example.com'";

/** Names that never resolve on the public internet (RFC 6761, RFC 7686, RFC 8375, RFC 9476, ICANN's .internal). */
const specialUse = new Set(['localhost', 'local', 'invalid', 'onion', 'internal', 'alt', 'arpa']);

/**
 * Accepts any name with a TLD without a lookup (in the browser); with one, only a registrable domain, so a public suffix, a
 * subdomain and an unknown TLD are refused.
 */
export function parseApexDomain(text: string, registrableDomain?: RegistrableDomain): Parsed<string> {
  const name = parseHostname(text.trim());
  if (name === null || !hasTld(name)) return refuse(apexDomainMessage);
  if (registrableDomain !== undefined && registrableDomain(name) !== name) return refuse(apexDomainMessage);
  return accept(name);
}

function hasTld(name: string): boolean {
  const labels = name.split('.');
  const tld = labels.at(-1)!;
  return labels.length >= 2 && tld.length >= 2 && !specialUse.has(tld);
}
