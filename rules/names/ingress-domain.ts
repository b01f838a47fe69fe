// The names that visitors use to reach a tunnel, and the list of them (spec 5, Tunnel ingress domain).

import { limits } from '../limits.ts';
import { accept, addWith, type Parsed, parseEach, refuse } from '../parsed.ts';
import { splitEntries, unwrapHost } from '../text/typed-list.ts';
import { hostnameMaxChars, isSameOrUnder, parseHostname } from './hostname.ts';

/** Accepts at least two labels, and `*.` before them. */
export function parseIngressDomain(text: string): Parsed<string> {
  const [, star = '', rest = ''] = /^(\*\.)?(.*)$/s.exec(text.trim())!;
  const name = parseHostname(rest);
  const fits = name?.includes('.') && star.length + name.length <= hostnameMaxChars;
  return fits ? accept(`${star}${name}`) : refuse('Please enter a valid domain name.');
}

/** Takes the host of a pasted URL too. */
export const addIngressDomain = addWith((text) => parseIngressDomain(unwrapHost(text)));

/** What a form or a call sends; `pending` is what a person typed and did not add yet. `generate`: the list stays empty and control makes up a name. */
export function parseIngressDomains(
  list: readonly string[],
  { generate = false, pending = '' }: { generate?: boolean; pending?: string } = {},
): Parsed<readonly string[]> {
  if (generate) return accept([]);
  const typed = [...list, ...splitEntries(pending).map(unwrapHost)];
  const names = parseEach(typed, parseIngressDomain, limits.ingressDomainsPerTunnel, 'ingress domains');
  return names.ok && names.value.length === 0 ? refuse('Provide at least one ingress domain') : names;
}

/** The most specific of the project's apexes that covers the name, or null. Both canonical. */
export function findApexName(name: string, apexNames: readonly string[]): string | null {
  const covering = apexNames.filter((apex) => isSameOrUnder(name, apex));
  return covering.reduce<string | null>((best, apex) => (best === null || apex.length > best.length ? apex : best), null);
}
