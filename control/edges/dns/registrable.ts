// Checks an apex domain by the public suffix list, beyond its shape (rules/names/apex-domain.ts), and recognises our own names.

import type { RegistrableDomain } from '@underpass/rules/names/apex-domain.ts';
import { isSameOrUnder } from '@underpass/rules/names/hostname.ts';
import { parse } from 'tldts';

/** Private suffixes count: github.io is no apex that a user can own, and foo.github.io is one. */
export const registrableDomain: RegistrableDomain = (host) => {
  const { domain, isIcann, isPrivate, isIp } = parse(host, { allowPrivateDomains: true });
  return isIp !== true && (isIcann || isPrivate) ? domain : null;
};

/** No user may claim a host of our regions or of the dashboard, nor a name above or below one. */
export const isOwnDomain = (apexName: string, ownHosts: readonly string[]): boolean =>
  ownHosts.some((own) => isSameOrUnder(apexName, own) || isSameOrUnder(own, apexName));
