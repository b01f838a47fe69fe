// Whether a name is one that somebody can own: an apex under a public suffix, and none of ours.
// The shape of the name is rules/apex-domain.ts; this adds the public suffix list.

import { parse } from 'tldts';

export type ApexProblem = 'public-suffix' | 'not-an-apex' | 'ours';

/** Private suffixes count as well: nobody owns github.io here. */
const inspect = (name: string) => parse(name, { allowPrivateDomains: true, validateHostname: true });

const within = (name: string, parent: string): boolean => name === parent || name.endsWith(`.${parent}`);

const touches = (name: string, own: string): boolean => within(name, own) || within(own, name) || inspect(own).domain === name;

/** `ownDomains`: hosts of our regions and of the dashboard. Undefined when the name may be claimed. */
export function apexProblem(apexName: string, ownDomains: readonly string[]): ApexProblem | undefined {
  if (ownDomains.some((own) => touches(apexName, own))) return 'ours';
  const { publicSuffix, domain, isIcann, isPrivate, isIp } = inspect(apexName);
  if (isIp === true || publicSuffix === null || !(isIcann || isPrivate)) return 'not-an-apex';
  if (domain === null) return 'public-suffix';
  return domain === apexName ? undefined : 'not-an-apex';
}
