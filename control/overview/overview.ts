// How a project stands, in one answer: what needs attention, its tunnels with the failing ones first, and what changed lately. A
// fixed number of queries, however many tunnels there are.

import type { Overview, OverviewTunnel } from '@underpass/rules/entity/resource.ts';
import { overviewLimits } from '@underpass/rules/limits.ts';
import { firstAddress } from '@underpass/rules/names/hostname.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { bound, type ConditionCounts, decideAttention } from '@underpass/rules/tunnel/attention.ts';
import { rankCondition, type TunnelCondition, tunnelConditions } from '@underpass/rules/tunnel/tunnel-condition.ts';
import { listRegionRows } from '../edges/region/regions.ts';
import type { Queries } from '../platform/store/store.ts';
import type { AreaHandlers, CallContext } from '../request/caller/call.ts';
import { countHosts, readStandings, type StandingTunnel } from '../tunnels/tunnel/list.ts';
import { readPorts } from '../tunnels/tunnel/public-port.ts';
import { findDownRegions } from '../tunnels/tunnel/region-presence.ts';
import { readHosts, toIngressDomain } from '../tunnels/tunnel/tunnels.ts';
import { readChanges } from './changes.ts';
import {
  type OverviewDeps,
  readDarkHosts,
  readDomains,
  readFailedOrders,
  readOwnCertificates,
  readQuotaUses,
  readStrayHosts,
  readTokens,
  toTunnelFacts,
} from './facts.ts';

function countConditions(tunnels: readonly StandingTunnel[]): ConditionCounts {
  const counts = Object.fromEntries(Object.keys(tunnelConditions).map((name) => [name, 0])) as Record<TunnelCondition, number>;
  for (const { standing } of tunnels) counts[standing.condition] += 1;
  return counts;
}

/** Failing ones first; of alike ones, those that changed last. */
const failingFirst = (tunnels: readonly StandingTunnel[]): readonly StandingTunnel[] =>
  tunnels.toSorted(
    (one, other) =>
      rankCondition(one.standing.condition) - rankCondition(other.standing.condition) ||
      (other.standing.since ?? '').localeCompare(one.standing.since ?? '') ||
      one.name.localeCompare(other.name),
  );

async function readShown({ store, feed }: OverviewDeps, tunnels: readonly StandingTunnel[]): Promise<readonly OverviewTunnel[]> {
  const ids = tunnels.map(({ id }) => id);
  const [hosts, publicPorts, traces, regions] = await Promise.all([
    readHosts(store.db, ids),
    readPorts(store.db, ids),
    feed.traces(ids),
    listRegionRows(store.db),
  ]);
  const ports = new Map(regions.map((region) => [region.name, region.https_port]));
  return tunnels.map(({ id, name, type, region, status, standing }): OverviewTunnel => {
    const { condition, since, last, clients } = standing;
    const domains = (hosts.get(id) ?? []).map((host) => toIngressDomain(host, ports.get(region) ?? 443));
    const address = firstAddress(domains);
    const metrics = feed.metrics(id);
    return {
      ...{ name, type, status, connectedClients: clients, condition, trace: [...(traces.get(id) ?? [])] },
      ...(since === undefined ? {} : { conditionSince: since }),
      ...(domains[0] && { domain: (address ?? domains[0]).name }),
      ...(address && { url: address.url }),
      domains: domains.length,
      ...(publicPorts.has(id) ? { hostPort: publicPorts.get(id)! } : {}),
      ...(last.error === null ? {} : { error: last.error }),
      ...(metrics === undefined ? {} : { metrics }),
    };
  });
}

const hasCliToken = async (db: Queries, userId: string): Promise<boolean> =>
  (await db.selectFrom('api_tokens').select('id').where('user_id', '=', userId).where('cli', '=', 1).limit(1).execute()).length >
  0;

async function readSteps(
  { store, feed }: OverviewDeps,
  tunnels: readonly StandingTunnel[],
  userId: string,
): Promise<Overview['steps']> {
  if (tunnels.length > overviewLimits.newProjectTunnels) return undefined;
  const histories = await Promise.all(tunnels.map(({ id }) => feed.history(id, 'week')));
  const points = histories.flatMap((history) => history.points);
  const isServing = tunnels.some(({ id }) => (feed.metrics(id)?.tx ?? 0) > 0);
  return {
    hasCli: await hasCliToken(store.db, userId),
    hasConnected:
      tunnels.some(({ standing }) => standing.last.seen !== null || standing.clients > 0) ||
      points.some(({ clients }) => clients > 0),
    // tx counts only what an upstream answers: an error page of the edge is no visit.
    hasServed: isServing || points.some(({ tx }) => tx > 0),
  };
}

async function getOverview(deps: OverviewDeps, { membership, caller, nowMs }: CallContext<'getOverview'>): Promise<Overview> {
  const { db } = deps.store;
  const { id, role } = membership;
  const [tunnels, hosts, strayHosts, domains, failedOrders, ownCertificates, tokens, changes, upstreamDomains, quotas] =
    await Promise.all([
      readStandings(deps, id),
      readDarkHosts(db, id),
      readStrayHosts(db, id),
      readDomains(db, id),
      readFailedOrders(deps, id),
      readOwnCertificates(deps, id, nowMs),
      may(role, 'api-token.read') ? readTokens(db, id, nowMs) : [],
      may(role, 'audit.read') ? readChanges(db, id) : undefined,
      countHosts(db, id),
      readQuotaUses(db, id, nowMs),
    ]);
  const downRegions = findDownRegions(tunnels, deps.feed.edges(), nowMs);
  const dark = { hosts, strayHosts, missedDomains: domains.missed, failedOrders, ownCertificates };
  const attention = decideAttention(
    { isSuspended: membership.suspended, tunnels: tunnels.map(toTunnelFacts(deps.feed)), ...dark, tokens, downRegions, quotas },
    nowMs,
  );
  const { shown, more } = bound(attention, overviewLimits.attention);
  const [rows, steps] = await Promise.all([
    readShown(deps, failingFirst(tunnels).slice(0, overviewLimits.tunnels)),
    readSteps(deps, tunnels, caller.userId),
  ]);
  return {
    ...{ tunnels: tunnels.length, verifiedDomains: domains.verified, upstreamDomains },
    connectedClients: tunnels.reduce((sum, { standing }) => sum + standing.clients, 0),
    ...{ conditions: countConditions(tunnels), attention: shown, moreAttention: more, shown: rows },
    ...(changes === undefined ? {} : { changes }),
    ...(steps === undefined ? {} : { steps }),
  };
}

export const overviewHandlers = { getOverview } satisfies AreaHandlers<OverviewDeps>;
