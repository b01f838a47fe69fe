// Decides where a connection to port 443 goes, once, from its first flight. Pure: the routes are passed in.

import type { TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';

export interface Door<Tunnel extends { readonly type: TunnelType }> {
  /** The dashboard's own host. No tunnel can have it. */
  isDashboard(host: string): boolean;
  tunnelOf(host: string): Tunnel | null;
  /** The edge holds a certificate that covers the host. */
  hasCertificate(host: string): boolean;
  hasTlsChallenge(host: string): boolean;
}

export type Destination<Tunnel> =
  | { readonly kind: 'passthrough'; readonly tunnel: Tunnel; readonly host: string }
  /** TLS ends here. The tunnel is null for the region's own host, and for names under a wildcard that no tunnel has. */
  | { readonly kind: 'terminate'; readonly tunnel: Tunnel | null; readonly host: string }
  | { readonly kind: 'challenge' }
  | { readonly kind: 'dashboard' }
  | { readonly kind: 'nowhere' };

/** What each tunnel type does with a connection to the public ports. */
export const portUse = {
  http: { https: 'terminate', http: 'redirect' },
  ingress: { https: 'passthrough', http: 'passthrough' },
  /** No host leads to such a tunnel. */
  tcp: { https: 'none', http: 'none' },
} as const satisfies Readonly<
  Record<TunnelType, { readonly https: 'terminate' | 'passthrough' | 'none'; readonly http: 'redirect' | 'passthrough' | 'none' }>
>;

const acmeProtocol = 'acme-tls/1';
const nowhere = { kind: 'nowhere' } as const;

export function decideDestination<Tunnel extends { readonly type: TunnelType }>(
  host: string | null,
  protocols: readonly string[],
  door: Door<Tunnel>,
): Destination<Tunnel> {
  if (host === null) return nowhere;
  const isDashboard = door.isDashboard(host);
  const tunnel = isDashboard ? null : door.tunnelOf(host);
  if (tunnel !== null && portUse[tunnel.type].https === 'passthrough') return { kind: 'passthrough', tunnel, host };
  // RFC 8737 3: a validation connection offers this protocol and nothing else.
  if (protocols.includes(acmeProtocol)) {
    return protocols.length === 1 && door.hasTlsChallenge(host) ? { kind: 'challenge' } : nowhere;
  }
  if (!door.hasCertificate(host)) return nowhere;
  return isDashboard ? { kind: 'dashboard' } : { kind: 'terminate', tunnel, host };
}

/** RFC 8446 6: a fatal alert in a record of the oldest version that every client reads. */
export function encodeAlert(description: keyof typeof alerts): Uint8Array {
  return Uint8Array.of(21, 3, 1, 0, 2, 2, alerts[description]);
}

const alerts = { unexpected_message: 10, access_denied: 49, internal_error: 80, unrecognized_name: 112 } as const;
