// The tunnel types and the facts that set them apart (spec 1; spec 5, Region and type).
// Add a type here, and the compiler lists every place that decides by type.

import { accept, type Parsed, refuse } from '../parsed.ts';

interface TunnelTypeFacts {
  readonly label: string;
  readonly description: string;
  /** The edge ends TLS for this type: it needs a certificate, and a region that terminates TLS. */
  readonly edgeEndsTls: boolean;
  /** What leads a visitor to it: the name that the visitor asks for, or a public port of the region. */
  readonly foundBy: 'name' | 'port';
}

/** Types in the order in which the form shows them. The spec has the first two; a region with a range of ports offers tcp too. */
export const tunnelTypes = {
  http: { label: 'HTTP endpoint', description: 'TLS is terminated by the service.', edgeEndsTls: true, foundBy: 'name' },
  ingress: { label: 'Ingress', description: 'Ports 80 and 443 are passed through.', edgeEndsTls: false, foundBy: 'name' },
  tcp: { label: 'TCP', description: 'A public port for any TCP service.', edgeEndsTls: false, foundBy: 'port' },
} as const satisfies Readonly<Record<string, TunnelTypeFacts>>;

export type TunnelType = keyof typeof tunnelTypes;

export const tunnelTypeNames = Object.keys(tunnelTypes) as readonly TunnelType[];

export const defaultTunnelType: TunnelType = 'http';

export function isTunnelType(value: unknown): value is TunnelType {
  return typeof value === 'string' && Object.hasOwn(tunnelTypes, value);
}

export function parseTunnelType(text: string): Parsed<TunnelType> {
  if (isTunnelType(text)) return accept(text);
  return refuse(`Tunnel type must be ${tunnelTypeNames.map((name) => `'${name}'`).join(' or ')}`);
}

/** `an http tunnel`. */
export const aTunnel = (type: TunnelType): string => `${type === 'tcp' ? 'a' : 'an'} ${type} tunnel`;
