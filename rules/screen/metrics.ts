// The figures of a tunnel and of the dashboard, and how they are written (spec 3, Metrics; spec 7, notes).

import type { Tunnel } from '../entity/entity.ts';
import { formatSize } from '../text/size.ts';

interface Metric {
  readonly label: string;
  readonly value: string;
}

const notAvailable = 'n/a';

/** The strip on the tunnel's page. Pending shows 0; otherwise what is missing is n/a. */
export function renderTunnelMetrics(tunnel: Pick<Tunnel, 'status' | 'connectedClients' | 'metrics'>): readonly Metric[] {
  const { metrics } = tunnel;
  const show = (value: number | undefined, format: (value: number) => string) =>
    tunnel.status === 'Pending' ? '0' : formatFigure(value, format);
  return [
    { label: 'Connected Clients', value: show(tunnel.connectedClients, String) },
    { label: 'RX (5m)', value: show(metrics?.rx, formatByteRate) },
    { label: 'TX (5m)', value: show(metrics?.tx, formatByteRate) },
    { label: 'TCP conn rate (5m)', value: show(metrics?.tcpConnectionRate, formatRate) },
  ];
}

export interface DashboardSums {
  readonly tunnels: number;
  readonly verifiedDomains: number;
  readonly upstreamDomains: number;
  readonly connectedClients: number;
}

export const dashboardLabels: Readonly<Record<keyof DashboardSums, string>> = {
  tunnels: 'Tunnels',
  verifiedDomains: 'Verified domains',
  upstreamDomains: 'Upstream domains',
  connectedClients: 'Connected clients',
};

export const formatByteRate = (bytesPerSecond: number): string => `${formatSize(bytesPerSecond)}/s`;

/** Connections per second, two decimals. */
export function formatRate(perSecond: number): string {
  return perSecond.toFixed(2);
}

function formatFigure(value: number | undefined, format: (value: number) => string): string {
  return value !== undefined && Number.isFinite(value) && value >= 0 ? format(value) : notAvailable;
}
