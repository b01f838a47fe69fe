// Addresses that are valid only inside a network: users who check their own domains do not see them.

import { BlockList, isIP } from 'node:net';

// IANA special-purpose registries (RFC 6890 and its updates): the ranges that are not globally reachable.
const ranges4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const ranges6 = [
  '::/127',
  '100::/64',
  'fc00::/7',
  'fe80::/10',
  // Site-local, deprecated by RFC 3879 and still used.
  'fec0::/10',
  'ff00::/8',
  // These hold an IPv4 address, perhaps an inside one: IPv4-compatible, NAT64 (RFC 6052, RFC 8215), Teredo, 6to4.
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2001::/32',
  '2002::/16',
];

function compileRanges(): BlockList {
  const list = new BlockList();
  for (const [family, ranges] of [
    ['ipv4', ranges4],
    ['ipv6', ranges6],
  ] as const) {
    for (const range of ranges) {
      const [network = '', prefix] = range.split('/');
      list.addSubnet(network, Number(prefix), family);
    }
  }
  return list;
}

const inside = compileRanges();

/** A text that is no address counts as inside. IPv4-mapped IPv6 counts as IPv4. */
export function isInside(address: string): boolean {
  const family = isIP(address);
  return family === 0 || inside.check(address, family === 4 ? 'ipv4' : 'ipv6');
}
