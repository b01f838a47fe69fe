// The tunnel types and the facts that set them apart (spec 1; spec 5, Region and type).
// Add a type here, and the compiler lists every place that decides by type.

import { accept, type Parsed, refuse } from '../parsed.ts';

interface TunnelTypeFacts {
  readonly label: string;
  readonly description: string;
  /** The edge ends TLS for this type: it needs a certificate, and a region that terminates TLS. */
  readonly edgeEndsTls: boolean;
}

/** Types in the order in which the form shows them. */
export const tunnelTypes = {
  http: { label: 'HTTP endpoint', description: 'TLS is terminated by the service.', edgeEndsTls: true },
  ingress: { label: 'Ingress', description: 'Ports 80 and 443 are passed through.', edgeEndsTls: false },
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
