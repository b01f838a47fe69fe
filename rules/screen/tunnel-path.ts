// The way of a visitor to an upstream, in two lanes: from the internet to the region, and from the region to the client.

import { counted } from '../text/counted.ts';
import type { TunnelCondition } from '../tunnel/tunnel-condition.ts';
import type { DomainState } from './domain-state.ts';

/** `off`: nobody expects it to work now. */
export type Lane = 'open' | 'broken' | 'off' | 'unknown';

export interface TunnelPath {
  readonly visitors: Lane;
  readonly clients: Lane;
}

/** One domain that works opens the way of visitors. A check that runs or failed says nothing. */
function decideVisitors(domains: readonly Pick<DomainState, 'badge' | 'isFine'>[]): Lane {
  if (domains.length === 0) return 'off';
  if (domains.some(({ isFine }) => isFine)) return 'open';
  if (domains.some(({ badge }) => badge === 'loading' || badge === 'unknown')) return 'unknown';
  return domains.every(({ badge }) => badge === 'unverified') ? 'off' : 'broken';
}

const clientLanes: Readonly<Record<TunnelCondition, Lane>> = {
  working: 'open',
  failing: 'broken',
  down: 'broken',
  suspended: 'broken',
  waiting: 'off',
  stopped: 'off',
  unused: 'off',
  unknown: 'unknown',
};

export const decidePath = (
  condition: TunnelCondition,
  domains: readonly Pick<DomainState, 'badge' | 'isFine'>[],
): TunnelPath => ({
  visitors: decideVisitors(domains),
  clients: clientLanes[condition],
});

/** Visitors are served. */
export const isThrough = ({ visitors, clients }: TunnelPath): boolean => visitors === 'open' && clients === 'open';

const visitorWords: Readonly<Record<Lane, string>> = {
  open: 'Visitors reach the region',
  broken: 'Visitors do not reach the region',
  off: 'Visitors cannot reach the region yet',
  unknown: 'It is not known whether visitors reach the region',
};
const clientWords: Readonly<Record<Lane, string>> = {
  open: 'it reaches a client',
  broken: 'it does not reach an upstream',
  off: 'no client is expected',
  unknown: 'its clients are not known',
};

/** The picture in words. */
export const describePath = ({ visitors, clients }: TunnelPath): string => `${visitorWords[visitors]}; ${clientWords[clients]}.`;

/** Undefined: not known. */
export const countClients = (clients: number | undefined): string =>
  clients === undefined ? 'Clients' : counted(clients, 'client');
