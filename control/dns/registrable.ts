// What the public suffix list adds to the shape of an apex domain (rules/apex-domain.ts), and which names are ours.

import type { RegistrableDomain } from '@underpass/rules/apex-domain.ts';
import { parse } from 'tldts';

/** Private suffixes count as well: nobody owns github.io here, and foo.github.io is somebody's apex. */
export const registrableDomain: RegistrableDomain = (host) => {
  const { domain, isIcann, isPrivate, isIp } = parse(host, { allowPrivateDomains: true });
  return isIp !== true && (isIcann || isPrivate) ? domain : null;
};

const within = (name: string, parent: string): boolean => name === parent || name.endsWith(`.${parent}`);

/** Nobody may claim a name that holds, or is held by, a host of our regions or of the dashboard. */
export const isOwnDomain = (apexName: string, ownHosts: readonly string[]): boolean =>
  ownHosts.some((own) => within(apexName, own) || within(own, apexName));
