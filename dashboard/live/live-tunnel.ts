// The live part of a tunnel, and how it updates a loaded tunnel. Pure.
import type { Tunnel, TunnelMetrics, TunnelStatus } from '@underpass/rules/entity/entity.ts';
import type { TunnelGroup } from '@underpass/rules/entity/resource.ts';

/** The data of one `tunnel` event of /api/events. */
export interface LiveTunnel {
  readonly name: string;
  readonly status: TunnelStatus;
  readonly connectedClients?: number;
  readonly metrics?: TunnelMetrics;
}

/** Returns the same object if nothing changed, so that its row does not render again. */
export function applyLive(tunnel: Tunnel, live: LiveTunnel | undefined): Tunnel {
  if (!live || isSame(tunnel, live)) return tunnel;
  return {
    ...tunnel,
    status: live.status,
    ...(live.connectedClients === undefined ? {} : { connectedClients: live.connectedClients }),
    ...(live.metrics === undefined ? {} : { metrics: live.metrics }),
  };
}

function isSame(tunnel: Tunnel, live: LiveTunnel): boolean {
  return (
    tunnel.status === live.status &&
    (live.connectedClients === undefined || tunnel.connectedClients === live.connectedClients) &&
    (live.metrics === undefined || areSameMetrics(tunnel.metrics, live.metrics))
  );
}

function areSameMetrics(a: TunnelMetrics | undefined, b: TunnelMetrics): boolean {
  return a !== undefined && a.rx === b.rx && a.tx === b.tx && a.tcpConnectionRate === b.tcpConnectionRate;
}

/** Parses the data of the `tunnels` event, with which a stream begins. */
export const parseLiveTunnels = (text: string): readonly LiveTunnel[] =>
  (JSON.parse(text) as TunnelGroup[]).flatMap(({ names, ...live }) => names.map((name) => ({ name, ...live }) as LiveTunnel));

/** Parses an event's data; undefined if it is not a tunnel. */
export function parseLiveTunnel(text: string): LiveTunnel | undefined {
  try {
    const value = JSON.parse(text) as LiveTunnel;
    return typeof value?.name === 'string' && typeof value.status === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
