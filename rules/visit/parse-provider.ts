// An OpenID Connect provider of a policy, as its owner enters it (OpenID Connect Discovery 1.0).

import { accept, type Parsed, refuse } from '../parsed.ts';
import { parseSingleLine } from '../text/single-line.ts';
import { isLoopbackHost } from '../tunnel/upstream.ts';
import { parsePeople } from './parse-people.ts';
import { policyLimits } from './policy-limits.ts';

export interface Provider {
  readonly issuer: string;
  readonly clientId: string;
  readonly label: string;
  readonly people: readonly string[];
  readonly groupClaim: string;
  readonly groups: readonly string[];
}

export interface GivenProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly label?: string | null | undefined;
  readonly people?: readonly string[] | null | undefined;
  readonly groupClaim?: string | null | undefined;
  readonly groups?: readonly string[] | null | undefined;
}

const issuerMaxChars = 500;
const clientIdMaxChars = 200;
const labelMaxChars = 40;
const groupMaxChars = 200;
export const clientSecretMaxChars = 500;
const groupClaimDefault = 'groups';

/** `plainLoopback`: http is allowed on this machine itself, which only development needs. */
export function parseIssuer(text: string, { plainLoopback }: { readonly plainLoopback: boolean }): Parsed<string> {
  const typed = text.trim();
  if (typed === '') return refuse('Issuer is required.');
  const url = typed.length > issuerMaxChars ? null : URL.parse(typed);
  const isPlain = url?.protocol === 'http:' && plainLoopback && isLoopbackHost(url.hostname);
  if (url === null || (url.protocol !== 'https:' && !isPlain))
    return refuse("Issuer must be a URL that begins with 'https://', as your provider shows it.");
  if (url.username !== '' || url.password !== '' || /[?#]/.test(typed))
    return refuse("Issuer must not contain a user name, '?' or '#'.");
  // As it was typed, because an issuer must match the provider's text exactly; browsers add the slash of an empty path.
  return accept(url.pathname === '/' && !typed.endsWith('/') ? url.origin : url.href);
}

export function parseProvider(given: GivenProvider, options: { readonly plainLoopback: boolean }): Parsed<Provider> {
  const issuer = parseIssuer(given.issuer, options);
  if (!issuer.ok) return issuer;
  const clientId = line('Client ID', given.clientId, clientIdMaxChars);
  if (!clientId.ok) return clientId;
  const label = line('Label', given.label?.trim() || new URL(issuer.value).hostname.slice(0, labelMaxChars), labelMaxChars);
  if (!label.ok) return label;
  const people = parsePeople(given.people ?? []);
  if (!people.ok) return people;
  const groupClaim = line('Group claim', given.groupClaim?.trim() || groupClaimDefault, groupMaxChars);
  if (!groupClaim.ok) return groupClaim;
  const groups = parseGroups(given.groups ?? []);
  if (!groups.ok) return groups;
  if (people.value.length + groups.value.length === 0)
    return refuse("List who may sign in: an email address, '*@' and a domain, or a group.");
  return accept({
    issuer: issuer.value,
    clientId: clientId.value,
    label: label.value,
    people: people.value,
    groupClaim: groupClaim.value,
    groups: groups.value,
  });
}

function parseGroups(list: readonly string[]): Parsed<readonly string[]> {
  const most = policyLimits.groups;
  if (list.length > most) return refuse(`Provide at most ${most} groups; this list has ${list.length}.`);
  const groups = new Set<string>();
  for (const text of list) {
    const group = line('Group', text, groupMaxChars);
    if (!group.ok) return group;
    groups.add(group.value);
  }
  return accept([...groups]);
}

function line(what: string, text: string, maxChars: number): Parsed<string> {
  if (text.trim() === '') return refuse(`${what} is required.`);
  const parsed = parseSingleLine(text, { required: true, maxChars });
  return parsed.ok ? parsed : refuse(`${what}: ${parsed.message}`);
}
