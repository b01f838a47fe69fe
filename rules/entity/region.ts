// Regions and the tunnel types that they offer (spec 5, Region and type; Generate domain).

import { accept, type Parsed, refuse } from '../parsed.ts';
import { defaultTunnelType, type TunnelType, tunnelTypeNames, tunnelTypes } from '../tunnel/tunnel-type.ts';
import type { Region } from './entity.ts';

type Offers = Pick<Region, 'tlsTermination' | 'tcpPorts'>;

/** A region without TLS termination offers only the types whose TLS ends elsewhere; one without a range of ports no tcp. */
export function tunnelTypesOf({ tlsTermination, tcpPorts }: Offers): readonly TunnelType[] {
  const isOffered = ({ edgeEndsTls, foundBy }: (typeof tunnelTypes)[TunnelType]): boolean =>
    (tlsTermination || !edgeEndsTls) && (tcpPorts !== undefined || foundBy !== 'port');
  return tunnelTypeNames.filter((type) => isOffered(tunnelTypes[type]));
}

/** The wanted type if the region offers it, else the first that it offers. */
export function decideTunnelType(region: Offers, wanted: TunnelType = defaultTunnelType): TunnelType {
  const offered = tunnelTypesOf(region);
  return offered.includes(wanted) ? wanted : offered[0]!;
}

/** The first region that can be selected; undefined hides the form (spec 2, New Tunnel panel). */
export function defaultRegion<R extends Pick<Region, 'available'>>(regions: readonly R[]): R | undefined {
  return regions.find((region) => region.available);
}

/** The wildcard domain under which a name may be generated, or null if the toggle is not offered. */
export function generatorDomain(region: Pick<Region, 'wildcardIngressDomain'>, type: TunnelType): string | null {
  return tunnelTypes[type].edgeEndsTls && region.wildcardIngressDomain ? region.wildcardIngressDomain : null;
}

export const regionDescriptionMaxChars = 120;
/** One label of DNS. */
export const regionNamePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const regionMissingMessage = 'Please select a region';

function missingText(regions: readonly Pick<Region, 'name' | 'available'>[], name: string): string {
  const names = regions.filter(({ available }) => available).map((region) => region.name);
  return `There is no region '${name}'. Choose ${names.join(' or ') || 'another when one is available'}`;
}

/** The chosen region, if it exists, is available and offers the type. Every region carries private tunnels: they need no port. */
export function parseRegion<R extends Pick<Region, 'name' | 'available'> & Offers>(
  regions: readonly R[],
  name: string,
  type: TunnelType,
  isPrivate = false,
): Parsed<R> {
  const region = regions.find((candidate) => candidate.name === name);
  if (region === undefined) return refuse(name === '' ? regionMissingMessage : missingText(regions, name));
  if (!region.available) return refuse(`Region '${name}' is not available`);
  const offered = tunnelTypesOf(region);
  if (!offered.includes(type) && !isPrivate)
    return refuse(`Region '${name}' offers tunnels of type ${offered.join(' or ')} only`);
  return accept(region);
}
