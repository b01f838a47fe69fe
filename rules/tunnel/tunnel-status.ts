// The status of a tunnel: how control derives it and how screens read it (spec 4, Tunnel status).

/** What control stores, and whether the tunnel still waits for its domains to be verified. */
export const tunnelStatuses = {
  Pending: { waits: true },
  Progressing: { waits: true },
  Created: { waits: false },
} as const satisfies Readonly<Record<string, { readonly waits: boolean }>>;

type TunnelStatus = keyof typeof tunnelStatuses;

export type DisplayStatus = 'Connected' | 'Disconnected' | 'Pending' | 'Unknown';
export type StatusTone = 'positive' | 'negative' | 'waiting' | 'neutral';

export const statusTones: Readonly<Record<DisplayStatus, StatusTone>> = {
  Connected: 'positive',
  Disconnected: 'negative',
  Pending: 'waiting',
  Unknown: 'neutral',
};

export const waitingText = 'Waiting for domain verification.';

/**
 * Statuses come over the wire: any string is read. What is neither Created nor Pending shows as Unknown, Progressing too (spec 4,
 * Tunnel status). Control holds back the answer to a creation for a moment, so that new tunnels rarely show it.
 */
type ReadStatus = { readonly status: string; readonly connectedClients?: number | undefined };

export function decideDisplayStatus({ status, connectedClients }: ReadStatus): DisplayStatus {
  if (status === 'Pending') return 'Pending';
  if (status !== 'Created' || connectedClients === undefined) return 'Unknown';
  return connectedClients > 0 ? 'Connected' : 'Disconnected';
}

function isTunnelStatus(status: string): status is TunnelStatus {
  return Object.hasOwn(tunnelStatuses, status);
}

export function isWaitingForVerification(status: string): boolean {
  return isTunnelStatus(status) && tunnelStatuses[status].waits;
}

/** A fetched Pending tunnel has no clients, even if the answer leaves the count out (spec 4, Tunnel status). */
export function withPendingDefaults<T extends ReadStatus>(tunnel: T): T {
  return tunnel.status === 'Pending' && tunnel.connectedClients === undefined ? { ...tunnel, connectedClients: 0 } : tunnel;
}

/** The connect section needs a token to put into its snippets (spec 2, Tunnel detail). */
export function showsConnect(tunnel: { readonly status: TunnelStatus; readonly token?: string }): boolean {
  return tunnel.status !== 'Pending' && tunnel.token !== undefined && tunnel.token !== '';
}

/**
 * `isAcknowledged`: every connected edge of the region holds the route and its certificates, apart from edges that are too slow
 * to wait for.
 */
export function decideTunnelStatus(facts: { allDomainsVerified: boolean; isAcknowledged: boolean }): TunnelStatus {
  if (!facts.allDomainsVerified) return 'Pending';
  return facts.isAcknowledged ? 'Created' : 'Progressing';
}
