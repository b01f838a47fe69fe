// The facts from which a project's needs for attention are decided (rules/tunnel/attention.ts): for its first screen and its alerts.

import { dayMs, overviewLimits } from '@underpass/rules/limits.ts';
import { monthAt } from '@underpass/rules/text/month.ts';
import type { ProjectFacts, QuotaUse, TunnelFacts } from '@underpass/rules/tunnel/attention.ts';
import { certificateLimits } from '@underpass/rules/tunnel/own-certificate.ts';
import { sql } from 'kysely';
import type { CertificatePort } from '../edges/certificate/port.ts';
import { lostAfterMs } from '../edges/dns/core/ownership.ts';
import type { FeedPort } from '../edges/feed/port.ts';
import { isoTime } from '../platform/store/iso-time.ts';
import type { Queries, Store } from '../platform/store/store.ts';
import { readQuotas } from '../request/caller/membership.ts';
import { countedQuotas, countedRows } from '../request/caller/quota.ts';
import type { StandingTunnel } from '../tunnels/tunnel/list.ts';
import { gigabyte, hasTrafficLimit, readBytes } from '../usage/traffic-limit.ts';

interface FactDeps {
  readonly store: Pick<Store, 'db'>;
  readonly certificates: Pick<CertificatePort, 'ofNames'>;
}

export interface OverviewDeps extends FactDeps {
  readonly feed: FeedPort;
}

/** Ingress domains of a project and the names of their tunnels, a bounded number. */
const hostsOf = (db: Queries, projectId: string) =>
  db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .select(['t.name as tunnel', 'h.host'])
    .where('h.project_id', '=', projectId)
    .limit(overviewLimits.factRows);

export const toTunnelFacts =
  (feed: Pick<FeedPort, 'portProblem'>) =>
  ({ id, name, region, standing }: StandingTunnel): TunnelFacts => ({
    ...standing,
    ...{ name, region, error: standing.last.error ?? undefined, portProblem: feed.portProblem(id) },
  });

/** Ingress domains that serve nobody. One project has few: those of a blocked or unverified domain. */
export const readDarkHosts = (db: Queries, projectId: string): Promise<ProjectFacts['hosts']> =>
  hostsOf(db, projectId)
    .select(['h.apex_name as apexName', 'h.blocked'])
    // The words of the index `tunnel_hosts_waiting`.
    .where((eb) => eb(eb.fn.coalesce('h.live_host', eb.val('')), '=', ''))
    .orderBy('h.tunnel_id')
    .execute()
    .then((rows) => rows.map(({ blocked, ...row }) => ({ ...row, isBlocked: blocked === 1 })));

/** Twice in a row: the second check may have found a mended record. */
export const readStrayHosts = (db: Queries, projectId: string): Promise<ProjectFacts['strayHosts']> =>
  hostsOf(db, projectId)
    .select('h.dns_missing_since')
    .where('h.live_host', 'is not', null)
    .whereRef('h.dns_checked_at', '>', 'h.dns_missing_since')
    .orderBy('h.host')
    .execute()
    .then((rows) => rows.map(({ tunnel, host, dns_missing_since }) => ({ tunnel, host, since: isoTime(dns_missing_since!) })));

interface DomainFacts {
  readonly verified: number;
  readonly missed: ProjectFacts['missedDomains'];
}

export async function readDomains(db: Queries, projectId: string): Promise<DomainFacts> {
  const verified = db.selectFrom('domains').where('project_id', '=', projectId).where('verified_at', 'is not', null);
  const rows = await verified.select(['apex_name', 'first_missed_at']).execute();
  const missed = rows.flatMap(({ apex_name, first_missed_at }) =>
    first_missed_at === null ? [] : [{ domain: apex_name, until: isoTime(first_missed_at + lostAfterMs) }],
  );
  return { verified: rows.length, missed };
}

/** Hosts with a failed order are few: their certificates are looked up one by one. */
export async function readFailedOrders(
  { store: { db }, certificates }: FactDeps,
  projectId: string,
): Promise<ProjectFacts['failedOrders']> {
  const rows = await hostsOf(db, projectId)
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
    .orderBy('h.host')
    .execute();
  const known = await certificates.ofNames(rows.map(({ host }) => host));
  return rows.flatMap(({ host, tunnel }) => {
    const certificate = known.get(host);
    if (!certificate?.lastOrderFailed) return [];
    return [{ tunnel, host, until: certificate.until === undefined ? undefined : isoTime(certificate.until) }];
  });
}

/**
 * Certificates of the project that end within the longest time of a warning. One that has ended is left out where another serves:
 * the service may have no way to get one, whatever `fallback` says.
 */
export async function readOwnCertificates(
  { store: { db }, certificates }: FactDeps,
  projectId: string,
  nowMs: number,
): Promise<ProjectFacts['ownCertificates']> {
  const rows = await db
    .selectFrom('own_certificates as o')
    .innerJoin('tunnels as t', 't.id', 'o.tunnel_id')
    .innerJoin('tunnel_hosts as h', (join) => join.onRef('h.tunnel_id', '=', 'o.tunnel_id').onRef('h.host', '=', 'o.host'))
    .select(['t.name as tunnel', 'o.host', 'o.expires_at', 'o.fallback'])
    .where('t.project_id', '=', projectId)
    .where('h.live_host', 'is not', null)
    .where('o.expires_at', '<=', nowMs + certificateLimits.warnDays[0] * dayMs)
    .orderBy('o.host')
    .limit(overviewLimits.factRows)
    .execute();
  const ended = rows.filter(({ expires_at }) => expires_at <= nowMs);
  const known = await certificates.ofNames(ended.map(({ host }) => host));
  const alarming = rows.filter(({ host }) => known.get(host)?.until === undefined);
  return alarming.map(({ tunnel, host, expires_at, fallback }) => ({
    ...{ tunnel, host, until: isoTime(expires_at), fallback: fallback === 1 },
  }));
}

/** A CLI token is prolonged by each use. */
export async function readTokens(db: Queries, projectId: string, nowMs: number): Promise<ProjectFacts['tokens']> {
  const rows = await db
    .selectFrom('api_tokens')
    .select(['name', 'expires_at'])
    .where('project_id', '=', projectId)
    .where('cli', '=', 0)
    .where('expires_at', '>', nowMs)
    .where('expires_at', '<=', nowMs + 8 * dayMs)
    .orderBy('id')
    .limit(overviewLimits.factRows)
    .execute();
  return rows.map(({ name, expires_at }) => ({ name, until: isoTime(expires_at!) }));
}

/** What a project uses of each quota that counts rows, and of its traffic where that has a limit. */
export async function readQuotaUses(db: Queries, projectId: string, nowMs: number): Promise<readonly QuotaUse[]> {
  const counts = countedQuotas.map((name) =>
    sql<number>`(select count(*) from ${countedRows(name)} where project_id = ${projectId})`.as(name),
  );
  const row = await db.selectFrom('projects').select(['limits']).select(counts).where('id', '=', projectId).executeTakeFirst();
  if (row === undefined) return [];
  const quotas = readQuotas(row.limits);
  const counted = countedQuotas.map((quota) => ({
    ...{ quota, most: quotas[quota] },
    used: Number((row as Readonly<Record<string, unknown>>)[quota]),
  }));
  return hasTrafficLimit(quotas.gigabytesPerMonth)
    ? [...counted, await readTrafficUse(db, projectId, quotas.gigabytesPerMonth, nowMs)]
    : counted;
}

async function readTrafficUse(db: Queries, projectId: string, most: number, nowMs: number): Promise<QuotaUse> {
  const bytes = await readBytes(db, [projectId], monthAt(nowMs).startMs);
  return { quota: 'gigabytesPerMonth', most, used: Math.floor((bytes.get(projectId) ?? 0) / gigabyte) };
}
