// Decides which hosts a tunnel may have and writes them: names under the project's apexes, or generated under the region's
// wildcard domain. Runs under the project's lock; the unique `live_host` decides races between projects.

import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { dayMs, durations } from '@underpass/rules/limits.ts';
import { generateDomain, generateNumberedDomain } from '@underpass/rules/names/generated-domain.ts';
import { findApexName } from '@underpass/rules/names/ingress-domain.ts';
import { isOwnDomain, registrableDomain } from '../../edges/dns/registrable.ts';
import { dropOwnExcept } from '../../edges/own-certificate/own-rows.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { Membership } from '../../request/caller/membership.ts';
import { takeQuota, withinQuota } from '../../request/caller/quota.ts';
import { refuse } from '../../request/http/refusal.ts';
import { blockedAmong, refuseBlocked } from '../domain/blocked-names.ts';
import { type DomainMaker, foreignApexes, foreignDomainText, insertDomain, listDomains } from '../domain/domains.ts';

interface HostPlan {
  readonly membership: Membership;
  readonly tunnelId: string;
  readonly hosts: readonly string[];
  /** The tunnel's present generated names. They are allowed though they are under no apex of the project. */
  readonly generated: ReadonlySet<string>;
  readonly ownHosts: readonly string[];
  readonly nowMs: number;
  readonly maker?: DomainMaker;
}

function apexOf(host: string, apexNames: readonly string[], ownHosts: readonly string[]): string {
  const apex = findApexName(host, apexNames) ?? registrableDomain(host.replace(/^\*\./, ''));
  if (apex === null || isOwnDomain(apex, ownHosts))
    return refuse('invalid', `Ingress domain '${host}' cannot be used. Use a name under a domain that you own.`);
  return apex;
}

async function refuseTaken(trx: Queries, { membership, tunnelId, hosts }: HostPlan): Promise<void> {
  const taken = await trx
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .select(['h.host', 't.name'])
    .where('h.project_id', '=', membership.id)
    .where('h.host', 'in', hosts)
    .where('h.tunnel_id', '!=', tunnelId)
    .executeTakeFirst();
  if (taken) refuse('conflict', `Ingress domain '${taken.host}' is in use by tunnel '${taken.name}'`);
}

/** Adds new apexes to the project, unverified: the tunnel is pending until they are proven. */
async function addMissingApexes(trx: Queries, plan: HostPlan, missing: readonly string[]): Promise<void> {
  if (missing.length === 0) return;
  const [foreign] = await foreignApexes(trx, plan.membership.id, missing);
  if (foreign !== undefined) refuse('conflict', foreignDomainText(foreign));
  await takeQuota(trx, plan.membership, 'domains', missing.length);
  for (const apex of missing) await insertDomain(trx, plan.membership.id, apex, plan.nowMs, plan.maker);
}

const hostRow = (
  plan: HostPlan,
  host: string,
  position: number,
  apexName: string,
  { isLive, isBlocked }: { readonly isLive: boolean; readonly isBlocked: boolean },
): Schema['tunnel_hosts'] => ({
  tunnel_id: plan.tunnelId,
  project_id: plan.membership.id,
  host,
  apex_name: apexName,
  live_host: isLive && !isBlocked ? host : null,
  position,
  blocked: isBlocked ? 1 : null,
  dns_checked_at: null,
  dns_missing_since: null,
});

/** A tunnel keeps a host that was blocked after it got it, so that its owner can change the rest. */
async function takeBlocked(trx: Queries, { tunnelId, hosts }: HostPlan): Promise<ReadonlySet<string>> {
  const blocked = await blockedAmong(trx, hosts);
  if (blocked.size === 0) return blocked;
  const own = trx
    .selectFrom('tunnel_hosts')
    .select('host')
    .where('tunnel_id', '=', tunnelId)
    .where('host', 'in', [...blocked]);
  const held = new Set((await own.execute()).map(({ host }) => host));
  await refuseBlocked(
    trx,
    hosts.filter((host) => !held.has(host)),
  );
  return blocked;
}

async function planRows(trx: Queries, plan: HostPlan): Promise<Schema['tunnel_hosts'][]> {
  const blocked = await takeBlocked(trx, plan);
  const domains = await listDomains(trx, plan.membership.id);
  const known = domains.map((domain) => domain.apex_name);
  const verified = new Set(domains.filter((domain) => domain.verified_at !== null).map((domain) => domain.apex_name));
  const apexes = plan.hosts.map((host) => (plan.generated.has(host) ? '' : apexOf(host, known, plan.ownHosts)));
  const unverified = [...new Set(apexes)].filter((apex) => apex !== '' && !verified.has(apex));
  const missing = unverified.filter((apex) => !known.includes(apex));
  await addMissingApexes(trx, plan, missing);
  const [foreign] = await foreignApexes(trx, plan.membership.id, unverified);
  if (foreign !== undefined) refuse('conflict', foreignDomainText(foreign));
  return plan.hosts.map((host, index) => {
    const apex = apexes[index]!;
    return hostRow(plan, host, index, apex, { isLive: apex === '' || verified.has(apex), isBlocked: blocked.has(host) });
  });
}

/** Reserves generated names that a project gives up, so that another project does not get their visitors. */
export async function reserveNames(trx: Queries, projectId: string, names: readonly string[], nowMs: number): Promise<void> {
  const reservation = { project_id: projectId, resting_until: nowMs + durations.generatedNameRestDays * dayMs };
  for (const host of names) {
    await trx
      .insertInto('released_names')
      .values({ host, ...reservation })
      .onConflict((conflict) => conflict.column('host').doUpdateSet(reservation))
      .execute();
  }
}

const compared = (row: Schema['tunnel_hosts']) => [row.host, row.apex_name, row.live_host];

async function isWritten(trx: Queries, tunnelId: string, rows: readonly Schema['tunnel_hosts'][]): Promise<boolean> {
  const written = await trx
    .selectFrom('tunnel_hosts')
    .selectAll()
    .where('tunnel_id', '=', tunnelId)
    .orderBy('position')
    .execute();
  return isDeepStrictEqual(written.map(compared), rows.map(compared));
}

/** Replaces all hosts of the tunnel. False if nothing changed. The project must be locked. */
export async function writeHosts(trx: Queries, plan: HostPlan): Promise<boolean> {
  withinQuota(plan.membership, 'ingressDomainsPerTunnel', plan.hosts.length);
  if (plan.hosts.length > 0) await refuseTaken(trx, plan);
  const rows = await planRows(trx, plan);
  if (await isWritten(trx, plan.tunnelId, rows)) return false;
  const released = [...plan.generated].filter((name) => !plan.hosts.includes(name));
  await reserveNames(trx, plan.membership.id, released, plan.nowMs);
  await trx.deleteFrom('tunnel_hosts').where('tunnel_id', '=', plan.tunnelId).execute();
  await dropOwnExcept(trx, plan.tunnelId, plan.hosts);
  if (rows.length > 0) await trx.insertInto('tunnel_hosts').values(rows).execute();
  return true;
}

/** `holder`: the project whose own released names are free for it; undefined: none are. */
export async function isNameFree(trx: Queries, host: string, nowMs: number, holder = ''): Promise<boolean> {
  const used = await trx.selectFrom('tunnel_hosts').select('host').where('live_host', '=', host).executeTakeFirst();
  if (used || (await blockedAmong(trx, [host])).has(host)) return false;
  const resting = await trx
    .selectFrom('released_names')
    .select('host')
    .where('host', '=', host)
    .where('resting_until', '>', nowMs)
    .where('project_id', '!=', holder)
    .executeTakeFirst();
  return resting === undefined;
}

// Tries in a row: with half of all word pairs in use, 20 fail once in a million.
const nameTries = 20;
const pick = (bound: number): number => randomInt(bound);

export async function generateName(trx: Queries, wildcardDomain: string, nowMs: number): Promise<string> {
  for (let tries = 0; tries < nameTries; tries++) {
    const host = generateDomain(wildcardDomain, pick);
    if (await isNameFree(trx, host, nowMs)) return host;
  }
  const numbered = generateNumberedDomain(wildcardDomain, pick);
  if (await isNameFree(trx, numbered, nowMs)) return numbered;
  return refuse('unavailable', 'No free name was found. Please try again.');
}
