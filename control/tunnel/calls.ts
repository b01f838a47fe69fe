// The calls about tunnels (spec 7).

import type { ProxyProtocol, Tunnel } from '@underpass/rules/entity.ts';
import { parseIngressDomains } from '@underpass/rules/ingress-domain.ts';
import { parseProxyProtocol } from '@underpass/rules/proxy-protocol.ts';
import { generatorDomain, parseRegion, regionMissingMessage } from '@underpass/rules/region.ts';
import { defaultSecurityGroupName } from '@underpass/rules/security-group-name.ts';
import { parseTunnelName } from '@underpass/rules/tunnel-name.ts';
import { defaultTunnelType, parseTunnelType } from '@underpass/rules/tunnel-type.ts';
import { userShare } from '../access/allowance.ts';
import { auditCall } from '../access/audit.ts';
import type { CallContext, Handlers } from '../access/call.ts';
import type { Access } from '../access/project-access.ts';
import { lockProject } from '../access/project-lock.ts';
import { takeQuota } from '../access/quota.ts';
import { awaitServing } from '../feed/await-serving.ts';
import type { FeedPort } from '../feed/port.ts';
import { findGroup } from '../group/groups.ts';
import { nextUpdate, refuseStale } from '../http/if-match.ts';
import { orInvalid, orMissing, refuse } from '../http/refusal.ts';
import type { Limiter } from '../limit/limiter.ts';
import { listRegionRows, ownHosts, toRegion } from '../region/regions.ts';
import { createId } from '../store/id.ts';
import { isForeignKeyViolation, isUniqueViolation, type Queries, type Store } from '../store/store.ts';
import { generateName, writeHosts } from './ingress-hosts.ts';
import { insertTunnelToken, rotateTunnelToken } from './token.ts';
import { findTunnelRow, listTunnels, readHosts, readTunnel, refuseSuspended, type TunnelReadDeps } from './tunnels.ts';

export interface TunnelDeps extends TunnelReadDeps {
  readonly store: Store;
  readonly feed: FeedPort;
  readonly limiter: Limiter;
  readonly origin: string;
}

const getTunnel = async (deps: TunnelDeps, access: Access, name: string, withMetrics = false): Promise<Tunnel> =>
  orMissing(await readTunnel(deps, access, name, withMetrics), 'Tunnel');

const getRow = async (db: Queries, access: Access, name: string) => orMissing(await findTunnelRow(db, access.id, name), 'Tunnel');

const getGroupId = async (db: Queries, access: Access, name: string): Promise<string> => {
  const group = await findGroup(db, access.id, name);
  return group?.id ?? refuse('invalid', `Security group '${name}' does not exist`);
};

interface NewTunnel {
  readonly name: string;
  readonly type: Tunnel['type'];
  readonly region: string;
  readonly proxyProtocol: ProxyProtocol;
  /** Empty if a name is to be generated under `wildcardDomain`. */
  readonly hosts: readonly string[];
  readonly wildcardDomain: string | null;
}

const parseNewTunnel = async (deps: TunnelDeps, { body }: CallContext<'createTunnel'>): Promise<NewTunnel> => {
  const name = orInvalid(parseTunnelName(body.name));
  const type = orInvalid(parseTunnelType(body.type ?? defaultTunnelType));
  const proxyProtocol = orInvalid(parseProxyProtocol(body.proxyProtocol ?? ''));
  const regions = (await listRegionRows(deps.store.db)).map(toRegion);
  const region = orInvalid(parseRegion(regions, body.region, type));
  const asked = body.ingressDomains ?? [];
  const wildcardDomain = asked.length === 0 ? generatorDomain(region, type) : null;
  const hosts = orInvalid(parseIngressDomains(asked, { generate: wildcardDomain !== null }));
  return { name, type, region: region.name, proxyProtocol, hosts, wildcardDomain };
};

const insertTunnel = async (trx: Queries, access: Access, tunnel: NewTunnel, nowMs: number): Promise<string> => {
  const id = createId(nowMs);
  await trx
    .insertInto('tunnels')
    .values({
      id,
      project_id: access.id,
      name: tunnel.name,
      type: tunnel.type,
      region: tunnel.region,
      proxy_protocol: tunnel.proxyProtocol,
      security_group_id: await getGroupId(trx, access, defaultSecurityGroupName),
      suspended_at: null,
      created_at: nowMs,
      updated_at: nowMs,
    })
    .execute();
  return id;
};

// Under the project's lock, only two projects that generate the same name at once can collide.
const writeTries = 5;

const writeUnlessTaken = async <T>(store: Store, body: (trx: Queries) => Promise<T>): Promise<T> => {
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
};

const createTunnel = async (deps: TunnelDeps, context: CallContext<'createTunnel'>): Promise<Tunnel> => {
  const { access, caller, nowMs } = context;
  const tunnel = await parseNewTunnel(deps, context);
  if (tunnel.wildcardDomain !== null) await deps.limiter.take('generatedNamePerUser', userShare(caller));
  const own = await ownHosts(deps.store.db, deps.origin);
  const id = await writeUnlessTaken(deps.store, async (trx) => {
    await takeQuota(trx, access, 'tunnels');
    if (await findTunnelRow(trx, access.id, tunnel.name)) refuse('conflict', `Tunnel '${tunnel.name}' already exists`);
    const tunnelId = await insertTunnel(trx, access, tunnel, nowMs);
    const made = tunnel.wildcardDomain === null ? [] : [await generateName(trx, tunnel.wildcardDomain, nowMs)];
    const hosts = [...tunnel.hosts, ...made];
    await writeHosts(trx, { access, tunnelId, hosts, generated: new Set(made), ownHosts: own, nowMs });
    await insertTunnelToken(trx, deps.keyRing, tunnelId, nowMs);
    await auditCall(trx, context, 'tunnel.create', tunnel.name, { type: tunnel.type, region: tunnel.region, hosts });
    return tunnelId;
  });
  deps.feed.tunnelsChanged([id]);
  const made = await getTunnel(deps, access, tunnel.name);
  if (made.status !== 'Progressing') return made;
  await awaitServing(deps.feed, [id]);
  // Somebody may have deleted it in the meantime.
  return (await readTunnel(deps, access, tunnel.name, false)) ?? made;
};

interface TunnelChange {
  readonly hosts: readonly string[] | undefined;
  readonly proxyProtocol: ProxyProtocol | undefined;
  readonly securityGroup: string | undefined;
}

const parseChange = ({ body }: CallContext<'updateTunnel'>): TunnelChange => ({
  hosts: body.ingressDomains,
  proxyProtocol: body.proxyProtocol === undefined ? undefined : orInvalid(parseProxyProtocol(body.proxyProtocol)),
  securityGroup: body.securityGroup,
});

const generatedNames = async (trx: Queries, tunnelId: string): Promise<ReadonlySet<string>> => {
  const hosts = (await readHosts(trx, [tunnelId])).get(tunnelId) ?? [];
  return new Set(hosts.filter((host) => host.apex_name === '').map((host) => host.host));
};

/** An empty list keeps the generated name: the screen cannot edit it (spec 2, Update tunnel panel). */
const hostsAfter = (asked: readonly string[], generated: ReadonlySet<string>): readonly string[] =>
  orInvalid(parseIngressDomains(asked.length === 0 ? [...generated] : asked));

const changeHosts = async (
  deps: TunnelDeps,
  trx: Queries,
  context: CallContext<'updateTunnel'>,
  tunnelId: string,
  asked: readonly string[],
) => {
  const { access, nowMs } = context;
  const generated = await generatedNames(trx, tunnelId);
  const hosts = hostsAfter(asked, generated);
  return writeHosts(trx, { access, tunnelId, hosts, generated, ownHosts: await ownHosts(trx, deps.origin), nowMs });
};

/** Saving the values that the tunnel already has changes nothing: no audit row, no message to the edges. */
const updateTunnel = async (deps: TunnelDeps, context: CallContext<'updateTunnel'>): Promise<Tunnel> => {
  const { access, segments, nowMs } = context;
  const change = parseChange(context);
  const id = await writeUnlessTaken(deps.store, async (trx) => {
    await lockProject(trx, access.id);
    const row = await getRow(trx, access, segments.name);
    refuseSuspended(row);
    const set = {
      proxy_protocol: change.proxyProtocol ?? row.proxy_protocol,
      security_group_id:
        change.securityGroup === undefined ? row.security_group_id : await getGroupId(trx, access, change.securityGroup),
    };
    const hostsChanged = change.hosts !== undefined && (await changeHosts(deps, trx, context, row.id, change.hosts));
    const same = set.proxy_protocol === row.proxy_protocol && set.security_group_id === row.security_group_id;
    if (same && !hostsChanged) return undefined;
    refuseStale(context.request, row.updated_at, `Tunnel '${row.name}'`);
    await trx
      .updateTable('tunnels')
      .set({ ...set, updated_at: nextUpdate(row.updated_at, nowMs) })
      .where('id', '=', row.id)
      .execute();
    await auditCall(trx, context, 'tunnel.update', row.name, { ...change });
    return row.id;
  });
  if (id !== undefined) deps.feed.tunnelsChanged([id]);
  return getTunnel(deps, access, segments.name);
};

const deleteTunnel = async (deps: TunnelDeps, context: CallContext<'deleteTunnel'>): Promise<void> => {
  const { access, segments, nowMs } = context;
  const id = await deps.store.write(async (trx) => {
    await lockProject(trx, access.id);
    const row = await getRow(trx, access, segments.name);
    refuseSuspended(row);
    const generated = await generatedNames(trx, row.id);
    await writeHosts(trx, { access, tunnelId: row.id, hosts: [], generated, ownHosts: [], nowMs });
    await trx.deleteFrom('tunnels').where('id', '=', row.id).execute();
    await auditCall(trx, context, 'tunnel.delete', row.name);
    return row.id;
  });
  deps.feed.tunnelsChanged([id]);
};

const parseMetrics = (text: string | undefined): boolean =>
  text !== undefined && (text === '1' || refuse('invalid', "Metrics must be '1', or left out."));

/** Refuses every value but '0': a caller who means to end the old token at once must not miss a typing error. */
const parseOverlap = (text: string | undefined): boolean =>
  text === undefined || (text !== '0' && refuse('invalid', "Overlap must be '0', or left out."));

const rotateToken = async (deps: TunnelDeps, context: CallContext<'rotateToken'>): Promise<Tunnel> => {
  const { access, segments, query, nowMs } = context;
  const overlap = parseOverlap(query.overlap);
  const id = await deps.store.write(async (trx) => {
    await lockProject(trx, access.id);
    const row = await getRow(trx, access, segments.name);
    await rotateTunnelToken(trx, deps.keyRing, row.id, nowMs, overlap);
    await auditCall(trx, context, 'tunnel.rotate-token', row.name, overlap ? {} : { overlap });
    return row.id;
  });
  deps.feed.tunnelsChanged([id]);
  return getTunnel(deps, access, segments.name);
};

const ranges = ['hour', 'day', 'week'] as const;

const getHistory = async (deps: TunnelDeps, { access, segments, query }: CallContext<'getHistory'>) => {
  const range = ranges.find((each) => each === query.range) ?? refuse('invalid', "Range must be 'hour', 'day' or 'week'.");
  const row = await getRow(deps.store.db, access, segments.name);
  return deps.feed.history(row.id, range);
};

const listClients = async (deps: TunnelDeps, { access, segments }: CallContext<'listClients'>) => {
  const row = await getRow(deps.store.db, access, segments.name);
  return deps.feed.clients(row.id);
};

export const createTunnelCalls = (
  deps: TunnelDeps,
): Handlers<
  | 'listTunnels'
  | 'getTunnel'
  | 'createTunnel'
  | 'updateTunnel'
  | 'deleteTunnel'
  | 'rotateToken'
  | 'listClients'
  | 'getHistory'
  | 'listRegions'
> => ({
  listTunnels: ({ access }) => listTunnels(deps, access),
  getTunnel: ({ access, segments, query }) => getTunnel(deps, access, segments.name, parseMetrics(query.metrics)),
  createTunnel: (context) => createTunnel(deps, context),
  updateTunnel: (context) => updateTunnel(deps, context),
  deleteTunnel: (context) => deleteTunnel(deps, context),
  rotateToken: (context) => rotateToken(deps, context),
  listClients: (context) => listClients(deps, context),
  getHistory: (context) => getHistory(deps, context),
  listRegions: async () => (await listRegionRows(deps.store.db)).map(toRegion),
});
