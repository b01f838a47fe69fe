// How a project stands, in one answer: what needs attention, its tunnels with the failing ones first, and what changed lately. A
// fixed number of queries, however many tunnels there are.

import type { Overview, OverviewTunnel } from '@underpass/rules/entity/resource.ts';
import { dayMs, overviewLimits } from '@underpass/rules/limits.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { bound, type ConditionCounts, decideAttention, type ProjectFacts } from '@underpass/rules/tunnel/attention.ts';
import { rankCondition, type TunnelCondition, tunnelConditions } from '@underpass/rules/tunnel/tunnel-condition.ts';
import type { CertificatePort } from '../edges/certificate/port.ts';
import { lostAfterMs } from '../edges/dns/core/ownership.ts';
import type { FeedPort } from '../edges/feed/port.ts';
import { listRegionRows } from '../edges/region/regions.ts';
import type { Queries, Store } from '../platform/store/store.ts';
import type { CallContext, Handlers } from '../request/caller/call.ts';
import { countHosts, readStandings, type StandingTunnel } from '../tunnels/tunnel/list.ts';
import { readHosts, toIngressDomain } from '../tunnels/tunnel/tunnels.ts';
import { readChanges } from './changes.ts';

export interface OverviewDeps {
  readonly store: Pick<Store, 'db'>;
  readonly feed: FeedPort;
  readonly certificates: Pick<CertificatePort, 'ofNames'>;
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** Ingress domains that serve nobody. One project has few: those of a blocked or unverified domain. */
const readDarkHosts = (db: Queries, projectId: string): Promise<ProjectFacts['hosts']> =>
  db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .select(['t.name as tunnel', 'h.host', 'h.apex_name as apexName', 'h.blocked'])
    .where('h.project_id', '=', projectId)
    // The words of the index `tunnel_hosts_waiting`.
    .where((eb) => eb(eb.fn.coalesce('h.live_host', eb.val('')), '=', ''))
    .orderBy('h.tunnel_id')
    .limit(overviewLimits.factRows)
    .execute()
    .then((rows) => rows.map(({ blocked, ...row }) => ({ ...row, isBlocked: blocked === 1 })));

interface DomainFacts {
  readonly verified: number;
  readonly missed: ProjectFacts['missedDomains'];
}

async function readDomains(db: Queries, projectId: string): Promise<DomainFacts> {
  const verified = db.selectFrom('domains').where('project_id', '=', projectId).where('verified_at', 'is not', null);
  const rows = await verified.select(['apex_name', 'first_missed_at']).execute();
  const missed = rows.flatMap(({ apex_name, first_missed_at }) =>
    first_missed_at === null ? [] : [{ domain: apex_name, until: iso(first_missed_at + lostAfterMs) }],
  );
  return { verified: rows.length, missed };
}

/** Hosts with a failed order are few: their certificates are looked up one by one. */
async function readFailedOrders(
  { store: { db }, certificates }: OverviewDeps,
  projectId: string,
): Promise<ProjectFacts['failedOrders']> {
  const rows = await db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .select(['h.host', 't.name as tunnel'])
    .where('h.project_id', '=', projectId)
    .where('h.live_host', 'is not', null)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('certificate_attempts as a')
          .select('a.id')
          .whereRef('a.name', '=', 'h.host')
          .where('a.outcome', '=', 'failed'),
      ),
    )
    .limit(overviewLimits.factRows)
    .execute();
  const known = await certificates.ofNames(rows.map(({ host }) => host));
  return rows.flatMap(({ host, tunnel }) => {
    const certificate = known.get(host);
    if (!certificate?.lastOrderFailed) return [];
    return [{ tunnel, host, until: certificate.until === undefined ? undefined : iso(certificate.until) }];
  });
}

/** A CLI token is prolonged by each use. */
async function readTokens(db: Queries, projectId: string, nowMs: number): Promise<ProjectFacts['tokens']> {
  const rows = await db
    .selectFrom('api_tokens')
    .select(['name', 'expires_at'])
    .where('project_id', '=', projectId)
    .where('cli', '=', 0)
    .where('expires_at', '>', nowMs)
    .where('expires_at', '<=', nowMs + 8 * dayMs)
    .limit(overviewLimits.factRows)
    .execute();
  return rows.map(({ name, expires_at }) => ({ name, until: iso(expires_at!) }));
}

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
  const [hosts, traces, regions] = await Promise.all([readHosts(store.db, ids), feed.traces(ids), listRegionRows(store.db)]);
  const ports = new Map(regions.map((region) => [region.name, region.https_port]));
  return tunnels.map(({ id, name, type, region, status, standing }): OverviewTunnel => {
    const { condition, since, last, clients } = standing;
    const domains = (hosts.get(id) ?? []).map((host) => toIngressDomain(host, ports.get(region) ?? 443));
    const metrics = feed.metrics(id);
    return {
      ...{ name, type, status, connectedClients: clients, condition, trace: [...(traces.get(id) ?? [])] },
      ...(since === undefined ? {} : { conditionSince: since }),
      ...(domains[0] && { domain: domains[0].name, url: domains[0].url }),
      domains: domains.length,
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
  const [tunnels, hosts, domains, failedOrders, tokens, changes, upstreamDomains] = await Promise.all([
    readStandings(deps, id),
    readDarkHosts(db, id),
    readDomains(db, id),
    readFailedOrders(deps, id),
    may(role, 'api-token.read') ? readTokens(db, id, nowMs) : [],
    may(role, 'audit.read') ? readChanges(db, id) : undefined,
    countHosts(db, id),
  ]);
  const facts = tunnels.map(({ name, standing }) => ({ ...standing, name, error: standing.last.error ?? undefined }));
  const attention = decideAttention({ tunnels: facts, hosts, missedDomains: domains.missed, failedOrders, tokens }, nowMs);
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

export const createOverviewCalls = (deps: OverviewDeps): Handlers<'getOverview'> => ({
  getOverview: (context) => getOverview(deps, context),
});
