// Regions and the tunnel types that they offer (spec 5, Region and type; Generate domain).

import type { Region, TunnelType } from './entity.ts';
import { accept, type Parsed, refuse } from './parsed.ts';

export const defaultTunnelType: TunnelType = 'http';

export const tunnelTypeLabels: Readonly<Record<TunnelType, { readonly label: string; readonly description: string }>> = {
  http: { label: 'HTTP endpoint', description: 'TLS is terminated by the service.' },
  ingress: { label: 'Ingress', description: 'Ports 80 and 443 are passed through.' },
};

/** In the order in which the form shows them. */
export function tunnelTypesOf(region: Pick<Region, 'tlsTermination'>): readonly TunnelType[] {
  return region.tlsTermination ? ['http', 'ingress'] : ['ingress'];
}

/** The wanted type where the region offers it, else the first that it offers. */
export function decideTunnelType(region: Pick<Region, 'tlsTermination'>, wanted: TunnelType = defaultTunnelType): TunnelType {
  const offered = tunnelTypesOf(region);
  return offered.includes(wanted) ? wanted : offered[0]!;
}

/** The first region that can be selected; undefined hides the form (spec 2, New Tunnel panel). */
export function defaultRegion<R extends Pick<Region, 'available'>>(regions: readonly R[]): R | undefined {
  return regions.find((region) => region.available);
}

/** The wildcard domain under which a name may be generated, or null where the toggle is not offered. */
export function generatorDomain(region: Pick<Region, 'wildcardIngressDomain'>, type: TunnelType): string | null {
  return type === 'http' && region.wildcardIngressDomain ? region.wildcardIngressDomain : null;
}

export function parseTunnelType(text: string): Parsed<TunnelType> {
  return text === 'http' || text === 'ingress' ? accept(text) : refuse("Tunnel type must be 'http' or 'ingress'");
}

export const regionMissingMessage = 'Please select a region';

/** The chosen region, if it exists, is available and offers the type. */
export function parseRegion<R extends Pick<Region, 'name' | 'available' | 'tlsTermination'>>(
  regions: readonly R[],
  name: string,
  type: TunnelType,
): Parsed<R> {
  const region = regions.find((candidate) => candidate.name === name);
  if (region === undefined) return refuse(regionMissingMessage);
  if (!region.available) return refuse(`Region '${name}' is not available`);
  if (!tunnelTypesOf(region).includes(type)) return refuse(`Region '${name}' offers tunnels of type ingress only`);
  return accept(region);
}
