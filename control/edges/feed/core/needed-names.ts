// The names whose certificates the edges of each region need. Pure.

import { servingNames } from '@underpass/rules/names/hostname.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';

export interface RegionNames {
  readonly region: string;
  readonly dataPlaneHost: string;
  readonly wildcardDomain: string | null;
  /** The dashboard's host, if the region's edges serve it. */
  readonly consoleHost: string | null;
}

export type NamesByRegion = Map<string, Set<string>>;

/** The hosts for which edges need a certificate. */
export const tlsHosts = ({ type, hosts }: Pick<FeedTunnel, 'type' | 'hosts'>): readonly string[] =>
  tunnelTypes[type].edgeEndsTls ? hosts : [];

export function addNeeded(names: NamesByRegion, region: string, tunnel: Pick<FeedTunnel, 'type' | 'hosts'>): void {
  const needed = names.get(region) ?? new Set<string>();
  names.set(region, needed);
  for (const name of tlsHosts(tunnel).flatMap(servingNames)) needed.add(name);
}

/** The region's own names. */
export const ownNames = ({ dataPlaneHost, wildcardDomain, consoleHost }: RegionNames): readonly string[] => [
  dataPlaneHost,
  ...(wildcardDomain === null ? [] : [`*.${wildcardDomain}`]),
  ...(consoleHost === null ? [] : servingNames(consoleHost)),
];
