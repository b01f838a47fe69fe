// The caller's address: that of the socket, or the one that a trusted proxy reports.

import { addressKey, canonicalAddress } from '@underpass/rules/address/address.ts';
import { compileAllowList } from '@underpass/rules/address/allow-list.ts';
import { isFromOtherSite } from './origin.ts';

/** Returns a check whether an address is one of the trusted proxies. */
export const compileProxies = (trustedProxies: readonly string[]): ((address: string) => boolean) =>
  trustedProxies.length === 0 ? () => false : compileAllowList(trustedProxies);

/** Reads X-Forwarded-For from the end, where our proxies append: the first address that is not a trusted proxy is the caller's. */
export function createAddressReader(trustedProxies: readonly string[]) {
  const isTrusted = compileProxies(trustedProxies);
  return (remote: string, headers: Pick<Headers, 'get'>): string => {
    let address = canonicalAddress(remote) ?? remote;
    const hops = (headers.get('x-forwarded-for') ?? '').split(',').map((hop) => canonicalAddress(hop.trim()));
    while (isTrusted(address)) {
      const next = hops.pop();
      if (next === undefined || next === null) return address;
      address = next;
    }
    return address;
  };
}

/** The key by which limits count. Requests that other sites' pages cause count apart: they must not use up the visitor's own. */
export const limitedAddress = (address: string, headers: Headers): string =>
  isFromOtherSite(headers) ? `${addressKey(address)} other sites` : addressKey(address);
