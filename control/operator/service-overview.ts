// How the service stands, in one answer: what needs an operator, the regions with their edges, and the other parts. It computes
// nothing of its own: parts come from `underpass-server status`, the rest from the lists of the operator pages.

import type { EdgeHealth, OperatorRegion, ServiceOverview, ServiceRegion, StatusRow } from '@underpass/rules/entity/resource.ts';
import { serviceOverviewLimits } from '@underpass/rules/limits.ts';
import type { ListPage, ListQuery } from '@underpass/rules/list/list-page.ts';
import { bound } from '@underpass/rules/tunnel/attention.ts';
import { decideServiceAttention, type Waiting } from '@underpass/rules/tunnel/service-attention.ts';
import type { FeedPort } from '../edges/feed/port.ts';
import { listAbuseReports } from './abuse-reports.ts';
import { type ActingOperator, newest } from './actor.ts';
import { listOperatorRegions } from './regions.ts';
import { listRegistrations } from './registrations.ts';

export interface ServiceDeps {
  readonly readStatus?: () => Promise<readonly StatusRow[]>;
  readonly feed: Pick<FeedPort, 'edges'>;
}

const oldest: ListQuery = { ...newest('', 1), descending: false };

async function readWaiting(page: Promise<ListPage<{ readonly createdAt: string }>>): Promise<Waiting> {
  const { rows, total } = await page;
  return { total, since: rows[0]?.createdAt };
}

/** 0 disconnected, 1 behind, 2 up to date. */
const rankEdge = ({ connected, acknowledged }: EdgeHealth): number => (connected ? (acknowledged ? 2 : 1) : 0);

function toServiceRegion({ name, description, available }: OperatorRegion, all: readonly EdgeHealth[]): ServiceRegion {
  const edges = all.filter(({ region }) => region === name);
  return {
    ...{ name, description, available },
    edges: edges
      .toSorted((one, other) => rankEdge(one) - rankEdge(other) || one.id.localeCompare(other.id))
      .slice(0, serviceOverviewLimits.edgesOfRegion)
      // A hub knows more of an edge than operators need here.
      .map(({ id, region, version, connected, since, lastSeenAt, acknowledged, clients }) => ({
        ...{ id, region, version, connected, since, lastSeenAt, acknowledged, clients },
      })),
    totalEdges: edges.length,
    connectedEdges: edges.filter(({ connected }) => connected).length,
    clients: edges.reduce((sum, { clients }) => sum + clients, 0),
  };
}

/** 0 without a connected edge, 1 with one away, 2 with all. */
const rankRegion = ({ connectedEdges, totalEdges }: ServiceRegion): number =>
  connectedEdges === 0 ? 0 : connectedEdges < totalEdges ? 1 : 2;

/** Shown with their region. */
const ofRegion: ReadonlySet<StatusRow['part']> = new Set(['edge', 'copy', 'region']);

export async function readServiceOverview(operator: ActingOperator, deps: ServiceDeps): Promise<ServiceOverview> {
  const [status, regions, registrations, abuseReports] = await Promise.all([
    deps.readStatus?.() ?? [],
    listOperatorRegions(operator),
    readWaiting(listRegistrations(operator, { state: 'waiting' }, oldest)),
    readWaiting(listAbuseReports(operator, 'open', oldest)),
  ]);
  const edges = deps.feed.edges();
  const attention = decideServiceAttention({ parts: status, edges, registrations, abuseReports });
  const { shown, more } = bound(attention, serviceOverviewLimits.attention);
  return {
    ...{ attention: [...shown], moreAttention: more },
    regions: regions
      .map((region) => toServiceRegion(region, edges))
      .toSorted((one, other) => rankRegion(one) - rankRegion(other) || one.name.localeCompare(other.name))
      .slice(0, serviceOverviewLimits.regions),
    totalRegions: regions.length,
    ...{ edges: edges.length, connectedEdges: edges.filter(({ connected }) => connected).length },
    // One row of each kind of part, and two of each region's certificates.
    parts: status.filter(({ part }) => !ofRegion.has(part)).slice(0, 2 * serviceOverviewLimits.regions),
  };
}
