// What projects should hear of now, and what changes in their alerts by it. Reads only.

import { dayMs } from '@underpass/rules/limits.ts';
import { type AlertFacts, type AlertKind, alertKinds, alertOf, newsMostMs } from '@underpass/rules/tunnel/alert.ts';
import { decideAttention, noFacts, type ProjectFacts, quotaNearShare } from '@underpass/rules/tunnel/attention.ts';
import { certificateLimits } from '@underpass/rules/tunnel/own-certificate.ts';
import { sql } from 'kysely';
import type { FeedPort } from '../edges/feed/port.ts';
import {
  type OverviewDeps,
  readDomains,
  readFailedOrders,
  readOwnCertificates,
  readQuotaUses,
  readStrayHosts,
  readTokens,
  toTunnelFacts,
} from '../overview/facts.ts';
import type { Queries } from '../platform/store/store.ts';
import { readQuotas } from '../request/caller/membership.ts';
import { countedQuotas, countedRows } from '../request/caller/quota.ts';
import { readStandings, type StandingTunnel } from '../tunnels/tunnel/list.ts';
import { findDownRegions, firstReportMs, isExpected, presenceOf } from '../tunnels/tunnel/region-presence.ts';
import { readLimited } from '../usage/traffic-limit.ts';
import { readOpen } from './alert-rows.ts';
import { type AlertStep, type AlertView, type KnownAlert, nextAlerts } from './core/next-alerts.ts';
import { readWaitSeconds } from './waiting-time.ts';

export interface ProjectSteps {
  readonly projectId: string;
  readonly steps: readonly AlertStep[];
}

/** Kinds that the edges' reports decide, and those that wait only to be told: looked at every few seconds. */
const isQuick = (kind: AlertKind): boolean =>
  kind === 'tunnel-down' || kind === 'region-down' || kind === 'port-closed' || 'once' in alertKinds[kind];
const { quick, slow } = Object.groupBy(Object.keys(alertKinds) as AlertKind[], (kind) =>
  isQuick(kind) ? 'quick' : 'slow',
) as Record<'quick' | 'slow', AlertKind[]>;

/**
 * Projects with a tunnel that should work and may not. Most tunnels work, so one query and a look at the reports rule them out, and
 * those that fell long ago are no news. The row of a client that has just come is not written yet.
 */
async function readSuspects({ store, feed }: OverviewDeps, nowMs: number): Promise<readonly string[]> {
  const rows = await store.db
    .selectFrom('tunnels as t')
    .innerJoin('projects as p', 'p.id', 't.project_id')
    .leftJoin('last_clients as l', 'l.tunnel_id', 't.id')
    .select(['t.id', 't.project_id', 'l.seen_at', 'l.on_purpose'])
    .where((eb) => eb(eb.fn.coalesce('t.suspended_at', 'p.suspended_at', 'p.over_limit_at'), 'is', null))
    .where((eb) => eb.or([eb('l.left_at', 'is', null), eb('l.left_at', '>', nowMs - newsMostMs)]))
    .execute();
  const isWorking = (id: string): boolean => feed.clientCount(id) > 0 && feed.clients(id).some(({ healthy }) => healthy);
  const wasThere = ({ id, seen_at, on_purpose }: (typeof rows)[number]): boolean => {
    const { seen, left } = feed.lastClient(id);
    return seen === null ? (seen_at ?? 0) > 0 && on_purpose === 0 : !left?.onPurpose;
  };
  const isSuspect = (row: (typeof rows)[number]): boolean =>
    feed.portProblem(row.id) !== undefined || (!isWorking(row.id) && wasThere(row));
  return rows.filter(isSuspect).map(({ project_id }) => project_id);
}

export async function findTunnelSteps(deps: OverviewDeps, nowMs: number): Promise<readonly ProjectSteps[]> {
  const open = await readOpen(deps.store.db, quick);
  const projects = new Set([...(await readSuspects(deps, nowMs)), ...open.keys()]);
  return stepsOf(projects, async (projectId) => {
    const waitMs = (await readWaitSeconds(deps.store.db, projectId)) * 1000;
    const tunnels = await readStandings(deps, projectId);
    const facts = factsOfTunnels(deps, tunnels, nowMs);
    return nextAlerts(facts, open.get(projectId) ?? [], viewOf(deps, tunnels, nowMs, waitMs));
  });
}

async function stepsOf(
  projects: Iterable<string>,
  stepsIn: (projectId: string) => Promise<readonly AlertStep[]>,
): Promise<readonly ProjectSteps[]> {
  const found: ProjectSteps[] = [];
  for (const projectId of projects) {
    const steps = await stepsIn(projectId);
    if (steps.length > 0) found.push({ projectId, steps });
  }
  return found;
}

function factsOfTunnels({ feed }: OverviewDeps, tunnels: readonly StandingTunnel[], nowMs: number): readonly AlertFacts[] {
  const downRegions = findDownRegions(tunnels, feed.edges(), nowMs, 'absent');
  const items = decideAttention({ ...noFacts, tunnels: tunnels.map(toTunnelFacts(feed)), downRegions }, nowMs);
  const regionOf = new Map(tunnels.map(({ name, region }) => [name, region]));
  const reach = Map.groupBy(tunnels.filter(isExpected), ({ region }) => region);
  return alertsAmong(items).map((facts) => {
    const region = regionOf.get(facts.tunnel ?? '');
    if (region === undefined) return facts;
    const inRegion = reach.get(region) ?? [];
    const down = inRegion.filter(({ standing }) => standing.condition === 'down' || standing.condition === 'failing').length;
    return { ...facts, region, inRegion: { down, total: inRegion.length } };
  });
}

const alertsAmong = (items: ReturnType<typeof decideAttention>): readonly AlertFacts[] =>
  items.flatMap((item) => alertOf(item) ?? []);

/** A tunnel's alert changes only by what the edges are sure of: neither a restart of control nor one of an edge raises or ends one. */
function viewOf({ feed }: OverviewDeps, tunnels: readonly StandingTunnel[], nowMs: number, waitMs: number): AlertView {
  const byName = new Map(tunnels.map((tunnel) => [tunnel.name, tunnel]));
  const isHeld = ({ kind, tunnel: name = '' }: AlertFacts): boolean => {
    const tunnel = kind === 'tunnel-down' || kind === 'port-closed' ? byName.get(name) : undefined;
    if (tunnel !== undefined && kind === 'port-closed') return presenceOf(feed.edges(), tunnel.region, nowMs) !== 'known';
    return tunnel !== undefined && !isCertain(feed, tunnel, nowMs, Math.min(firstReportMs, waitMs));
  };
  const endOf = ({ kind, tunnel = '' }: AlertFacts) =>
    kind !== 'tunnel-down' || byName.get(tunnel)?.standing.condition === 'working' ? 'back' : 'gone';
  return { nowMs, waitMs, isHeld, endOf };
}

function isCertain(feed: FeedPort, { region, standing }: StandingTunnel, nowMs: number, settleMs: number): boolean {
  const { condition, last } = standing;
  if (condition === 'unknown') return false;
  if (condition !== 'down' && condition !== 'stopped') return true;
  const presence = presenceOf(feed.edges(), region, nowMs, settleMs);
  // One edge is silent: only a leave that another one saw is certain.
  const hasLeft = last.left !== undefined && last.left.at >= (last.seen?.at ?? '');
  return presence === 'known' || (presence === 'partial' && hasLeft);
}

const quotasNear = (db: Queries) =>
  Promise.all(
    countedQuotas.map(async (name) => {
      const { rows } = await sql<{ id: string; limits: string | null; n: number }>`
        select p.id, p.limits, c.n from projects p
        join (select project_id, count(*) as n from ${countedRows(name)} group by project_id) c on c.project_id = p.id`.execute(
        db,
      );
      return rows.filter(({ limits, n }) => Number(n) >= readQuotas(limits)[name] * quotaNearShare).map(({ id }) => id);
    }),
  );

/** Projects that something slow may concern: a few queries over all, and most projects are ruled out. */
async function readSlowSuspects(db: Queries, nowMs: number): Promise<readonly string[]> {
  const missed = db.selectFrom('domains').select('project_id').where('first_missed_at', 'is not', null);
  const ending = db.selectFrom('api_tokens').select('project_id').where('cli', '=', 0);
  const failed = db
    .selectFrom('certificate_attempts as a')
    .innerJoin('tunnel_hosts as h', 'h.host', 'a.name')
    .select('h.project_id')
    .distinct()
    .where('a.outcome', '=', 'failed');
  const stray = db.selectFrom('tunnel_hosts').select('project_id').distinct().where('dns_missing_since', 'is not', null);
  const own = db
    .selectFrom('own_certificates as o')
    .innerJoin('tunnels as t', 't.id', 'o.tunnel_id')
    .select('t.project_id')
    .where('o.expires_at', '<=', nowMs + certificateLimits.warnDays[0] * dayMs);
  const [domains, hosts, tokens, orders, owned, quotas, limited] = await Promise.all([
    missed.execute(),
    stray.execute(),
    ending
      .where('expires_at', '>', nowMs)
      .where('expires_at', '<=', nowMs + 8 * dayMs)
      .execute(),
    failed.execute(),
    own.execute(),
    quotasNear(db),
    readLimited(db),
  ]);
  return [
    ...[...domains, ...hosts, ...tokens, ...orders, ...owned].map(({ project_id }) => project_id),
    ...quotas.flat(),
    ...limited.map(({ id }) => id),
  ];
}

async function readSlowFacts(deps: OverviewDeps, projectId: string, nowMs: number): Promise<ProjectFacts> {
  const { db } = deps.store;
  const [strayHosts, domains, failedOrders, ownCertificates, tokens, quotas] = await Promise.all([
    readStrayHosts(db, projectId),
    readDomains(db, projectId),
    readFailedOrders(deps, projectId),
    readOwnCertificates(deps, projectId, nowMs),
    readTokens(db, projectId, nowMs),
    readQuotaUses(db, projectId, nowMs),
  ]);
  return { ...noFacts, strayHosts, missedDomains: domains.missed, failedOrders, ownCertificates, tokens, quotas };
}

/** What changes within days, looked at every few minutes: domains, certificates, tokens, quotas. */
export async function findSlowSteps(deps: OverviewDeps, nowMs: number): Promise<readonly ProjectSteps[]> {
  const open = await readOpen(deps.store.db, slow);
  const projects = new Set([...(await readSlowSuspects(deps.store.db, nowMs)), ...open.keys()]);
  return stepsOf(projects, async (projectId) => {
    const facts = await readSlowFacts(deps, projectId, nowMs);
    const known: readonly KnownAlert[] = open.get(projectId) ?? [];
    // An order that fails because the name leads elsewhere is no item of its own, but it still fails.
    const strays = new Set(facts.strayHosts.map(({ host }) => host));
    const isHeld = ({ kind, domain = '' }: AlertFacts): boolean => kind === 'certificate-missing' && strays.has(domain);
    return nextAlerts(alertsAmong(decideAttention(facts, nowMs)), known, { nowMs, waitMs: 0, isHeld, endOf: () => 'back' });
  });
}
