// The label that a person chooses for a quick tunnel's address, as in `docs.tunnels.example.com`. Pure.

import { firstWords, secondWords } from '../text/word-list.ts';

/** Names that programs look up by themselves, that visitors take for the service's own, or that get mail about a domain. */
const reserved: ReadonlySet<string> = new Set(
  `abuse access account accounts acme admin administrator auth autoconfig autodiscover billing config console contact control
  dashboard dns edge edges email ftp gateway help hostmaster imap internal ipp isatap ldap localhost login logout mail mailer mta
  mta-sts noc ns ns1 ns2 ns3 ns4 ntp oauth openid operator pay payment payments pop pop3 postmaster proxy register relay root secure
  security signin sign-in signup smtp ssl sso status support sysadmin tls tunnel tunnels underpass webmail webmaster wpad www`.split(
    /\s+/,
  ),
);

/** Parts of a name that would make visitors type a password. */
const baits: ReadonlySet<string> = new Set(
  'account accounts auth login logon mfa oauth passkey passkeys password secure signin sso underpass verify wallet'.split(' '),
);

const leastChars = 3;
const mostChars = 63;

/** False for a reserved name, one that a region may generate, and one that a browser may show in another script. */
export function isChosenLabel(name: string): boolean {
  const isLabel = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(name) && name.length >= leastChars && name.length <= mostChars;
  if (!isLabel || name.slice(2, 4) === '--' || reserved.has(name) || looksGenerated(name)) return false;
  return !name.split('-').some((part) => baits.has(part));
}

function looksGenerated(name: string): boolean {
  const [first = '', second = ''] = name.split('-');
  return firstWords.includes(first) && secondWords.includes(second);
}
