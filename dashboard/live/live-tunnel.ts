// The live part of a tunnel, and how it updates a loaded tunnel. Pure.
import type { Tunnel, TunnelMetrics, TunnelStatus } from '@underpass/rules/entity/entity.ts';
import type { MembershipNews, TunnelGroup } from '@underpass/rules/entity/resource.ts';
import type { ClientErrorName } from '@underpass/rules/tunnel/client-error.ts';
import type { TunnelCondition } from '@underpass/rules/tunnel/tunnel-condition.ts';

/** The data of one `tunnel` event of /api/events. */
export interface LiveTunnel {
  readonly name: string;
  readonly status: TunnelStatus;
  readonly connectedClients?: number;
  readonly condition?: TunnelCondition;
  readonly conditionSince?: string;
  readonly error?: ClientErrorName;
  readonly metrics?: TunnelMetrics;
}

/** A tunnel, whole or as the first screen has it. */
export type FollowedTunnel = Pick<Tunnel, 'name' | 'status' | 'connectedClients' | 'condition' | 'conditionSince' | 'metrics'>;

/** Returns the same object if nothing changed, so that its row does not render again. */
export function applyLive<T extends FollowedTunnel>(tunnel: T, live: LiveTunnel | undefined): T {
  if (!live || isSame(tunnel, live)) return tunnel;
  const { condition: _condition, conditionSince: _since, ...rest } = tunnel;
  return {
    ...rest,
    status: live.status,
    ...(live.connectedClients === undefined ? {} : { connectedClients: live.connectedClients }),
    ...conditionAfter(tunnel, live),
    ...(live.metrics === undefined ? {} : { metrics: live.metrics }),
  } as T;
}

const areSameClients = (tunnel: FollowedTunnel, live: LiveTunnel): boolean =>
  tunnel.status === live.status && (live.connectedClients === undefined || tunnel.connectedClients === live.connectedClients);

/** What the event does not tell stays only where it cannot have changed. */
function conditionAfter(tunnel: FollowedTunnel, live: LiveTunnel): Pick<FollowedTunnel, 'condition' | 'conditionSince'> {
  const condition = live.condition ?? (areSameClients(tunnel, live) ? tunnel.condition : undefined);
  if (condition === undefined) return {};
  const since = live.conditionSince ?? (condition === tunnel.condition ? tunnel.conditionSince : undefined);
  return { condition, ...(since === undefined ? {} : { conditionSince: since }) };
}

function isSame(tunnel: FollowedTunnel, live: LiveTunnel): boolean {
  return (
    areSameClients(tunnel, live) &&
    (live.condition === undefined || tunnel.condition === live.condition) &&
    (live.conditionSince === undefined || tunnel.conditionSince === live.conditionSince) &&
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

const news: readonly string[] = ['changed', 'removed', 'deleted'] satisfies MembershipNews[];

/** A newer server may tell other news: then the page loads what holds now. */
export function parseMembership(text: string): MembershipNews {
  try {
    const { is } = JSON.parse(text) as { readonly is?: string };
    return news.includes(is ?? '') ? (is as MembershipNews) : 'changed';
  } catch {
    return 'changed';
  }
}
