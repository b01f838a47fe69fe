// Reads tunnels: rows of the store, joined with what the edges reported.

import type { IngressDomain, Role, Tunnel } from '@underpass/rules/entity/entity.ts';
import { redactTunnel } from '@underpass/rules/people/permission.ts';
import { decideTunnelStatus, withPendingDefaults } from '@underpass/rules/tunnel/tunnel-status.ts';
import type { CertificatePort } from '../../edges/certificate/port.ts';
import type { FeedPort } from '../../edges/feed/port.ts';
import { orphanedProjects } from '../../edges/feed/region-content.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { refuse } from '../../request/http/refusal.ts';
import { readRemembered, readStanding, type Standing } from './condition.ts';
import { readTunnelTokens } from './token.ts';

export interface TunnelReadDeps {
  readonly store: Pick<Store, 'db'>;
  readonly keyRing: KeyRing;
  readonly feed: Pick<FeedPort, 'isServing' | 'clientCount' | 'clients' | 'lastClient' | 'metrics' | 'portProblem'>;
  readonly certificates: CertificatePort;
  readonly version: string;
}

const tunnelRows = (db: Queries) =>
  db
    .selectFrom('tunnels as t')
    .innerJoin('regions as r', 'r.name', 't.region')
    .innerJoin('security_groups as g', 'g.id', 't.security_group_id')
    .innerJoin('projects as p', 'p.id', 't.project_id')
    .leftJoin('quick_tunnels as q', 'q.tunnel_id', 't.id')
    .leftJoin('access_policies as a', 'a.id', 't.access_policy_id')
    .leftJoin('tcp_ports as c', 'c.tunnel_id', 't.id')
    .select(['t.id', 't.name', 't.type', 't.region', 't.proxy_protocol', 't.updated_at', 'g.name as security_group'])
    .select(['r.description as region_description', 'r.data_plane_host', 'r.https_port'])
    .select([
      'c.port',
      'q.expires_at',
      'q.ends_at',
      'a.name as access_policy',
      't.visitor_log',
      't.visitor_log_query',
      't.begins_traces',
    ])
    .select((eb) => eb.fn.coalesce('t.suspended_at', 'p.suspended_at', 'p.over_limit_at').as('suspended_at'))
    .orderBy('t.id');

type TunnelRow = Awaited<ReturnType<ReturnType<typeof tunnelRows>['execute']>>[number];

const portSuffix = (port: number): string => (port === 443 ? '' : `:${port}`);

/** What a client dials. The fragment pins a private CA; clients do not send it. */
const clientUrl = (row: TunnelRow, pin: string | undefined): string =>
  `https://${row.data_plane_host}${portSuffix(row.https_port)}${pin === undefined ? '' : `#ca=${pin}`}`;

export const toIngressDomain = (host: Schema['tunnel_hosts'], port: number): IngressDomain => ({
  name: host.host,
  apexName: host.apex_name,
  verified: host.live_host !== null,
  ...(host.blocked === 1 ? { blocked: true } : {}),
  url: `https://${host.host}${portSuffix(port)}`,
});

export interface Facts {
  readonly hosts: readonly Schema['tunnel_hosts'][];
  readonly status: Tunnel['status'];
  readonly token: string | undefined;
  readonly standing: Standing;
}

const statusOf = (deps: TunnelReadDeps, id: string, hosts: readonly Schema['tunnel_hosts'][]) =>
  decideTunnelStatus({
    allDomainsVerified: hosts.every((host) => host.live_host !== null),
    isAcknowledged: deps.feed.isServing(id),
  });

function toTunnel(deps: TunnelReadDeps, row: TunnelRow, { hosts, status, token, standing }: Facts, withMetrics: boolean): Tunnel {
  const metrics = withMetrics ? deps.feed.metrics(row.id) : undefined;
  const { condition, since } = standing;
  const portProblem = row.port === null ? undefined : deps.feed.portProblem(row.id);
  return withPendingDefaults({
    name: row.name,
    type: row.type,
    region: row.region,
    regionDescription: row.region_description,
    status,
    ingressDomains: hosts.map((host) => toIngressDomain(host, row.https_port)),
    connectedClients: standing.clients,
    condition,
    ...(since === undefined ? {} : { conditionSince: since }),
    dataPlaneHost: row.data_plane_host,
    ...(row.port === null ? {} : { port: row.port }),
    ...(portProblem === undefined ? {} : { portProblem }),
    proxyProtocol: row.proxy_protocol,
    securityGroup: row.security_group,
    ...(row.access_policy === null ? {} : { accessPolicy: row.access_policy }),
    ...(row.visitor_log === null ? {} : { visitorLog: row.visitor_log }),
    ...(row.visitor_log !== null && row.visitor_log_query === 1 ? { visitorLogQuery: true as const } : {}),
    ...(row.begins_traces === 1 ? { beginsTraces: true as const } : {}),
    updatedAt: new Date(row.updated_at).toISOString(),
    ...(row.expires_at === null ? {} : { expiresAt: new Date(row.expires_at).toISOString() }),
    ...(row.ends_at === null ? {} : { endsAt: new Date(row.ends_at).toISOString() }),
    ...(token === undefined ? {} : { token }),
    url: clientUrl(row, deps.certificates.clientPin(row.data_plane_host)),
    underpassVersion: deps.version,
    ...(metrics === undefined ? {} : { metrics }),
  });
}

export async function readHosts(db: Queries, tunnelIds: readonly string[]): Promise<Map<string, Schema['tunnel_hosts'][]>> {
  if (tunnelIds.length === 0) return new Map();
  const rows = await db.selectFrom('tunnel_hosts').selectAll().where('tunnel_id', 'in', tunnelIds).orderBy('position').execute();
  return Map.groupBy(rows, (row) => row.tunnel_id);
}

async function assemble(
  deps: TunnelReadDeps,
  rows: readonly TunnelRow[],
  { id, role }: Reader,
  withMetrics: boolean,
): Promise<Tunnel[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const orphanedAt = (await orphanedProjects(deps.store.db, [id])).get(id) ?? null;
  const hosts = await readHosts(deps.store.db, ids);
  const tokens = await readTunnelTokens(deps.store.db, deps.keyRing, ids);
  const remembered = await readRemembered(deps.store.db, ids);
  return rows.map((row) => {
    const own = hosts.get(row.id) ?? [];
    const status = statusOf(deps, row.id, own);
    const about = { id: row.id, status, suspendedAt: row.suspended_at ?? orphanedAt, row: remembered.get(row.id) };
    const facts = { hosts: own, status, token: tokens.get(row.id), standing: readStanding(deps.feed, about) };
    return redactTunnel(toTunnel(deps, row, facts, withMetrics), role);
  });
}

export interface Reader {
  readonly id: string;
  readonly role: Role;
}

/** The tunnels with these ids, in their order. */
export async function readTunnels(deps: TunnelReadDeps, project: Reader, ids: readonly string[]): Promise<Tunnel[]> {
  if (ids.length === 0) return [];
  const rows = await tunnelRows(deps.store.db).where('t.id', 'in', ids).execute();
  const place = new Map(ids.map((id, at) => [id, at]));
  rows.sort((a, b) => place.get(a.id)! - place.get(b.id)!);
  return assemble(deps, rows, project, false);
}

export async function readTunnel(
  deps: TunnelReadDeps,
  project: Reader,
  name: string,
  withMetrics: boolean,
): Promise<Tunnel | undefined> {
  const rows = await tunnelRows(deps.store.db).where('t.project_id', '=', project.id).where('t.name', '=', name).execute();
  return (await assemble(deps, rows, project, withMetrics))[0];
}

export const findTunnelRow = (db: Queries, projectId: string, name: string) =>
  db.selectFrom('tunnels').selectAll().where('project_id', '=', projectId).where('name', '=', name).executeTakeFirst();

/** Refuses to change a suspended tunnel: its owner could otherwise delete it and make it again. */
export function refuseSuspended(tunnel: { readonly name: string; readonly suspended_at: number | null } | undefined): void {
  if (tunnel && tunnel.suspended_at !== null) {
    refuse('forbidden', `Tunnel '${tunnel.name}' is suspended. Please write to the operator.`);
  }
}

/** The same for all tunnels of a project that is to be deleted. The project must be locked. */
export async function refuseSuspendedIn(trx: Queries, projectId: string): Promise<void> {
  const tunnels = trx.selectFrom('tunnels').select(['name', 'suspended_at']).where('project_id', '=', projectId);
  refuseSuspended(await tunnels.where('suspended_at', 'is not', null).executeTakeFirst());
}
