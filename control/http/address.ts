// The visitor's address: the socket's, or what a trusted proxy says of it.

import { canonicalAddress } from '@underpass/rules/address.ts';
import { compileAllowList } from '@underpass/rules/allow-list.ts';

/** Tells whether an address is a proxy of ours. */
export const compileProxies = (trustedProxies: readonly string[]): ((address: string) => boolean) =>
  trustedProxies.length === 0 ? () => false : compileAllowList(trustedProxies);

/** Walks X-Forwarded-For from our side: the first address that is no proxy of ours is the visitor. */
export const createAddressReader = (trustedProxies: readonly string[]) => {
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
};
