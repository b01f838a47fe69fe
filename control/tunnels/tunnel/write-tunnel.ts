// Makes and deletes tunnels in the store: the same steps for calls, quick tunnels and tunnels whose expiry has come.

import type { ProxyProtocol, Tunnel } from '@underpass/rules/entity/entity.ts';
import { regionMissingMessage } from '@underpass/rules/entity/region.ts';
import { aTunnel, tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { createId } from '../../platform/store/id.ts';
import type { Flag, Schema } from '../../platform/store/schema.ts';
import { isForeignKeyViolation, isUniqueViolation, type Queries, type Store } from '../../platform/store/store.ts';
import { auditCall, listChange } from '../../request/caller/audit.ts';
import type { CallContext } from '../../request/caller/call.ts';
import type { Membership } from '../../request/caller/membership.ts';
import { takeQuota } from '../../request/caller/quota.ts';
import { refuse } from '../../request/http/refusal.ts';
import { findPolicy } from '../../visitors/policies/policies.ts';
import { type DomainMaker, dropQuickDomains } from '../domain/domains.ts';
import { findGroup } from '../group/groups.ts';
import { reserveNames, writeHosts } from './ingress-hosts.ts';
import { type FreshPortTurn, restPorts, takePort } from './public-port.ts';
import { insertTunnelToken } from './token.ts';
import { findTunnelRow, readHosts } from './tunnels.ts';

export interface NewTunnel {
  readonly name: string;
  readonly type: Tunnel['type'];
  readonly region: string;
  /** A tcp tunnel that gets no public port. */
  readonly isPrivate: boolean;
  readonly proxyProtocol: ProxyProtocol;
  readonly securityGroup: string;
  /** Undefined or empty: none. */
  readonly accessPolicy?: string | undefined;
  readonly hosts: readonly string[];
  /** The names among `hosts` that the service made up. */
  readonly generated: ReadonlySet<string>;
  /** Makes the domains of apexes that are new to the project. */
  readonly maker?: DomainMaker;
}

// Tries are few: under the project's lock, only two projects that generate the same name at once can collide.
const writeTries = 5;

export async function writeUnlessTaken<T>(store: Store, body: (trx: Queries) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await store.write(body);
    } catch (error) {
      // It must be the region: everything else that a tunnel refers to is under the project's lock.
      if (isForeignKeyViolation(error)) return refuse('invalid', regionMissingMessage);
      if (!isUniqueViolation(error)) throw error;
      if (tries === writeTries) return refuse('conflict', 'An ingress domain is in use by another tunnel');
    }
  }
}

export async function getGroupId(db: Queries, membership: Membership, name: string): Promise<string> {
  const group = await findGroup(db, membership.id, name);
  return group?.id ?? refuse('invalid', `Security group '${name}' does not exist`);
}

const policyTypeMessage = (type: Tunnel['type']): string =>
  `An access policy needs an http tunnel: the service cannot see inside ${aTunnel(type)}.`;

/** A tcp tunnel is found by its port. */
export function refuseHosts(type: Tunnel['type'], hosts: readonly string[]): void {
  if (tunnelTypes[type].foundBy === 'port' && hosts.length > 0)
    refuse('invalid', `A ${type} tunnel has a port of its region, and no ingress domains.`);
}

export function parsePrivate(type: Tunnel['type'], asked = false): boolean {
  if (asked && tunnelTypes[type].foundBy !== 'port') refuse('invalid', 'Only a tcp tunnel can be private.');
  return asked;
}

/** Null for an empty name: no policy. The project must be locked, so that the policy stays until the tunnel has it. */
export async function getPolicyId(
  db: Queries,
  membership: Membership,
  { name, type }: { readonly name: string; readonly type: Tunnel['type'] },
): Promise<string | null> {
  if (name === '') return null;
  if (type !== 'http') refuse('invalid', policyTypeMessage(type));
  const policy = await findPolicy(db, membership.id, name);
  return policy?.id ?? refuse('invalid', `Access policy '${name}' does not exist`);
}

/** Takes the quota and the name under the project's lock. */
export async function takeTunnelName(trx: Queries, membership: Membership, name: string): Promise<void> {
  await takeQuota(trx, membership, 'tunnels');
  if (await findTunnelRow(trx, membership.id, name)) refuse('conflict', `Tunnel '${name}' already exists`);
}

type Source = Pick<CallContext<'createTunnel'>, 'membership' | 'caller' | 'address' | 'nowMs'>;

interface InsertDeps {
  readonly keyRing: KeyRing;
  readonly ownHosts: readonly string[];
  readonly turn: FreshPortTurn;
}

/** Call after takeTunnelName. `detail` goes to the audit log with the tunnel's type, region and hosts. */
export async function insertTunnel(
  trx: Queries,
  { keyRing, ownHosts, turn }: InsertDeps,
  source: Source,
  tunnel: NewTunnel,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { membership, nowMs } = source;
  const { name, type, region, hosts, generated, accessPolicy = '', maker = null } = tunnel;
  const id = createId(nowMs);
  await trx
    .insertInto('tunnels')
    .values({
      id,
      project_id: membership.id,
      name,
      type,
      region,
      proxy_protocol: tunnel.proxyProtocol,
      security_group_id: await getGroupId(trx, membership, tunnel.securityGroup),
      access_policy_id: await getPolicyId(trx, membership, { name: accessPolicy, type }),
      suspended_at: null,
      created_at: nowMs,
      updated_at: nowMs,
    })
    .execute();
  await writeHosts(trx, { membership, tunnelId: id, hosts, generated, ownHosts, nowMs, maker });
  await insertTunnelToken(trx, keyRing, id, nowMs);
  const taker = { membership, region, tunnelId: id, tunnelName: name, turn, nowMs };
  const isPublic = tunnelTypes[type].foundBy === 'port' && !tunnel.isPrivate;
  const port = isPublic ? { port: await takePort(trx, taker) } : tunnel.isPrivate ? { private: true } : {};
  const guard = accessPolicy === '' ? {} : { accessPolicy };
  await auditCall(trx, source, 'tunnel.create', name, { type, region, hosts, ...port, ...guard, ...detail });
  return id;
}

export const hostNames = async (trx: Queries, tunnelId: string): Promise<readonly string[]> =>
  ((await readHosts(trx, [tunnelId])).get(tunnelId) ?? []).map(({ host }) => host);

type Columns = Pick<
  Schema['tunnels'],
  'proxy_protocol' | 'security_group_id' | 'access_policy_id' | 'visitor_log' | 'visitor_log_query' | 'begins_traces'
>;

const nameOf =
  (table: 'security_groups' | 'access_policies') =>
  async (id: string | null, trx: Queries): Promise<string> =>
    id === null ? '' : ((await trx.selectFrom(table).select('name').where('id', '=', id).executeTakeFirst())?.name ?? '');

const isOn = (flag: Flag | null): boolean => flag === 1;

/** What the audit log says of each column that an update may change. */
const described: {
  readonly [Column in keyof Columns]: readonly [name: string, say: (value: Columns[Column], trx: Queries) => unknown];
} = {
  proxy_protocol: ['proxyProtocol', (version) => version],
  security_group_id: ['securityGroup', nameOf('security_groups')],
  access_policy_id: ['accessPolicy', nameOf('access_policies')],
  visitor_log: ['visitorLog', (mode) => mode ?? 'off'],
  visitor_log_query: ['visitorLogQuery', isOn],
  begins_traces: ['beginsTraces', isOn],
};

interface TunnelUpdate {
  readonly hosts: { readonly before: readonly string[]; readonly after: readonly string[] } | undefined;
  readonly before: Columns;
  readonly set: Partial<Columns>;
}

/** What the audit log says of a changed tunnel: only what is different now, and what it was before. */
export async function describeUpdate(
  trx: Queries,
  { hosts, before, set }: TunnelUpdate,
): Promise<Readonly<Record<string, unknown>>> {
  const now: Record<string, unknown> = {};
  const was: Record<string, unknown> = {};
  for (const column of Object.keys(described) as (keyof Columns)[]) {
    if (set[column] === undefined || set[column] === before[column]) continue;
    const [name, say] = described[column];
    now[name] = await say(set[column] as never, trx);
    was[name] = await say(before[column] as never, trx);
  }
  return {
    ...(hosts && listChange(hosts.before, hosts.after)),
    ...now,
    ...(Object.keys(was).length > 0 && { before: was }),
  };
}

export async function generatedNames(trx: Queries, tunnelId: string): Promise<ReadonlySet<string>> {
  const hosts = (await readHosts(trx, [tunnelId])).get(tunnelId) ?? [];
  return new Set(hosts.filter((host) => host.apex_name === '').map((host) => host.host));
}

/** The project must be locked. The caller writes the audit row, and tells the feed after the commit. */
export async function deleteTunnelRow(
  trx: Queries,
  { id, project_id }: { readonly id: string; readonly project_id: string },
  nowMs: number,
): Promise<void> {
  const hosts = (await readHosts(trx, [id])).get(id) ?? [];
  const generated = hosts.filter((host) => host.apex_name === '').map(({ host }) => host);
  await reserveNames(trx, project_id, generated, nowMs);
  await restPorts(trx, 'tunnel_id', id, nowMs);
  await trx.deleteFrom('tunnels').where('id', '=', id).execute();
  await dropQuickDomains(trx, project_id, [...new Set(hosts.map(({ apex_name }) => apex_name))]);
}
