// The calls about tunnels (spec 7).

import type { ProxyProtocol, Tunnel } from '@underpass/rules/entity/entity.ts';
import { generatorDomain, parseRegion } from '@underpass/rules/entity/region.ts';
import { parseListQuery, tunnelList } from '@underpass/rules/list/list-page.ts';
import { parseIngressDomains } from '@underpass/rules/names/ingress-domain.ts';
import { defaultSecurityGroupName } from '@underpass/rules/text/security-group-name.ts';
import { parseProxyProtocol } from '@underpass/rules/tunnel/proxy-protocol.ts';
import { parseTunnelName } from '@underpass/rules/tunnel/tunnel-name.ts';
import { defaultTunnelType, parseTunnelType, tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { type KeptAddress, parseVisitorLogMode, type VisitorLogMode } from '@underpass/rules/tunnel/visitor-log.ts';
import { awaitServing } from '../../edges/feed/await-serving.ts';
import type { FeedPort } from '../../edges/feed/port.ts';
import { listRegionRows, ownHosts, toRegion } from '../../edges/region/regions.ts';
import type { Limiter } from '../../platform/limit/limiter.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { userShare } from '../../request/caller/allowance.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import type { Membership } from '../../request/caller/membership.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import { parseFlag } from '../../request/http/flag.ts';
import { nextUpdate, refuseStale } from '../../request/http/if-match.ts';
import { answerPage } from '../../request/http/page.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { joinLastClient, readRemembered } from './condition.ts';
import { generateName, writeHosts } from './ingress-hosts.ts';
import { listTunnels } from './list.ts';
import { type FreshPortTurn, withFreshPortTurn } from './public-port.ts';
import { keepTunnel, type QuickDeps, refuseKept, startQuickTunnel } from './quick.ts';
import { rotateTunnelToken } from './token.ts';
import { findTunnelRow, readTunnel, refuseSuspended, type TunnelReadDeps } from './tunnels.ts';
import { deleteVisitorLog, readVisitorLog } from './visitor-log.ts';
import {
  deleteTunnelRow,
  describeUpdate,
  generatedNames,
  getGroupId,
  getPolicyId,
  hostNames,
  insertTunnel,
  type NewTunnel,
  parsePrivate,
  refuseHosts,
  takeTunnelName,
  writeUnlessTaken,
} from './write-tunnel.ts';

interface TunnelDeps extends TunnelReadDeps, QuickDeps {
  readonly store: Store;
  readonly feed: FeedPort;
  readonly limiter: Limiter;
  readonly origin: string;
}

const getTunnel = async (deps: TunnelDeps, membership: Membership, name: string, withMetrics = false): Promise<Tunnel> =>
  orMissing(await readTunnel(deps, membership, name, withMetrics), 'Tunnel');

const getRow = async (db: Queries, membership: Membership, name: string) =>
  orMissing(await findTunnelRow(db, membership.id, name), 'Tunnel');

interface AskedTunnel extends Omit<NewTunnel, 'securityGroup' | 'generated'> {
  /** The region's domain, if a name is to be generated under it; `hosts` is empty then. */
  readonly wildcardDomain: string | null;
}

async function parseNewTunnel(deps: TunnelDeps, { body }: CallContext<'createTunnel'>): Promise<AskedTunnel> {
  const name = orInvalid(parseTunnelName(body.name));
  const type = orInvalid(parseTunnelType(body.type ?? defaultTunnelType));
  const proxyProtocol = orInvalid(parseProxyProtocol(body.proxyProtocol ?? ''));
  const regions = (await listRegionRows(deps.store.db)).map(toRegion);
  const isPrivate = parsePrivate(type, body.private);
  const region = orInvalid(parseRegion(regions, body.region, type, isPrivate));
  const asked = body.ingressDomains ?? [];
  const wildcardDomain = asked.length === 0 ? generatorDomain(region, type) : null;
  refuseHosts(type, asked);
  const needsHosts = tunnelTypes[type].foundBy === 'name';
  const hosts = orInvalid(parseIngressDomains(asked, { generate: wildcardDomain !== null || !needsHosts }));
  const { accessPolicy } = body;
  return { name, type, region: region.name, proxyProtocol, hosts, wildcardDomain, accessPolicy, isPrivate };
}

/** Somebody may delete the tunnel in the meantime: the answer is then as it was. */
async function answerServing(deps: TunnelDeps, membership: Membership, id: string, name: string): Promise<Tunnel> {
  deps.feed.tunnelsChanged([id]);
  const made = await getTunnel(deps, membership, name);
  if (made.status !== 'Progressing') return made;
  await awaitServing(deps, [id]);
  return (await readTunnel(deps, membership, name, false)) ?? made;
}

async function createTunnel(deps: TunnelDeps, context: CallContext<'createTunnel'>): Promise<Tunnel> {
  const { membership, caller, nowMs } = context;
  const tunnel = await parseNewTunnel(deps, context);
  if (tunnel.wildcardDomain !== null) await deps.limiter.take('generatedNamePerUser', userShare(caller));
  const own = await ownHosts(deps.store.db, deps.origin);
  const insert = async (trx: Queries, turn: FreshPortTurn) => {
    await takeTunnelName(trx, membership, tunnel.name);
    const generated = tunnel.wildcardDomain === null ? [] : [await generateName(trx, tunnel.wildcardDomain, nowMs)];
    const asked = {
      securityGroup: defaultSecurityGroupName,
      hosts: [...tunnel.hosts, ...generated],
      generated: new Set(generated),
    };
    return insertTunnel(trx, { ...deps, ownHosts: own, turn }, context, { ...tunnel, ...asked });
  };
  const id = await withFreshPortTurn(deps.limiter, { caller, ...tunnel }, (turn) =>
    writeUnlessTaken(deps.store, (trx) => insert(trx, turn)),
  );
  return answerServing(deps, membership, id, tunnel.name);
}

interface TunnelChange {
  readonly hosts: readonly string[] | undefined;
  readonly proxyProtocol: ProxyProtocol | undefined;
  readonly securityGroup: string | undefined;
  /** Empty: none. */
  readonly accessPolicy: string | undefined;
  readonly visitorLog: VisitorLogMode | undefined;
  readonly visitorLogQuery: boolean | undefined;
  readonly beginsTraces: boolean | undefined;
}

const parseChange = ({ body }: CallContext<'updateTunnel'>): TunnelChange => ({
  hosts: body.ingressDomains,
  proxyProtocol: body.proxyProtocol === undefined ? undefined : orInvalid(parseProxyProtocol(body.proxyProtocol)),
  securityGroup: body.securityGroup,
  accessPolicy: body.accessPolicy,
  visitorLog: body.visitorLog === undefined ? undefined : orInvalid(parseVisitorLogMode(body.visitorLog)),
  visitorLogQuery: body.visitorLogQuery,
  beginsTraces: body.beginsTraces,
});

/** An empty list keeps the generated name: the screen cannot edit it (spec 2, Update tunnel panel). */
const hostsAfter = (asked: readonly string[], generated: ReadonlySet<string>): readonly string[] =>
  orInvalid(parseIngressDomains(asked.length === 0 ? [...generated] : asked));

async function changeHosts(
  deps: TunnelDeps,
  trx: Queries,
  context: CallContext<'updateTunnel'>,
  tunnelId: string,
  asked: readonly string[],
) {
  const { membership, nowMs } = context;
  const generated = await generatedNames(trx, tunnelId);
  const hosts = hostsAfter(asked, generated);
  return writeHosts(trx, { membership, tunnelId, hosts, generated, ownHosts: await ownHosts(trx, deps.origin), nowMs });
}

const keptOf = (mode: VisitorLogMode): KeptAddress | null => (mode === 'off' ? null : mode);

async function columnsOf(trx: Queries, membership: Membership, row: Schema['tunnels'], change: TunnelChange) {
  const { proxyProtocol, securityGroup, accessPolicy, visitorLog, visitorLogQuery, beginsTraces } = change;
  const { type } = row;
  return {
    visitor_log: visitorLog === undefined ? row.visitor_log : keptOf(visitorLog),
    visitor_log_query: visitorLogQuery === undefined ? row.visitor_log_query : visitorLogQuery ? (1 as const) : null,
    begins_traces: beginsTraces === undefined ? row.begins_traces : beginsTraces ? (1 as const) : null,
    proxy_protocol: proxyProtocol ?? row.proxy_protocol,
    security_group_id: securityGroup === undefined ? row.security_group_id : await getGroupId(trx, membership, securityGroup),
    access_policy_id:
      accessPolicy === undefined ? row.access_policy_id : await getPolicyId(trx, membership, { name: accessPolicy, type }),
  };
}

/** Saving the values that the tunnel already has changes nothing: no audit row, no message to the edges. */
async function updateTunnel(deps: TunnelDeps, context: CallContext<'updateTunnel'>): Promise<Tunnel> {
  const { membership, segments, nowMs } = context;
  const change = parseChange(context);
  const id = await writeUnlessTaken(deps.store, async (trx) => {
    await lockProject(trx, membership.id);
    const row = await getRow(trx, membership, segments.name);
    refuseSuspended(row);
    const set = await columnsOf(trx, membership, row, change);
    const before = await hostNames(trx, row.id);
    refuseHosts(row.type, change.hosts ?? []);
    const mayHaveHosts = tunnelTypes[row.type].foundBy === 'name';
    const hostsChanged =
      mayHaveHosts && change.hosts !== undefined && (await changeHosts(deps, trx, context, row.id, change.hosts));
    const same = Object.entries(set).every(([name, value]) => row[name as keyof typeof set] === value);
    if (same && !hostsChanged) return undefined;
    refuseStale(context.request, row.updated_at, `Tunnel '${row.name}'`);
    await trx
      .updateTable('tunnels')
      .set({ ...set, updated_at: nextUpdate(row.updated_at, nowMs) })
      .where('id', '=', row.id)
      .execute();
    if (set.visitor_log !== row.visitor_log || set.visitor_log_query !== row.visitor_log_query)
      await deleteVisitorLog(trx, row.id);
    const hosts = hostsChanged ? { before, after: await hostNames(trx, row.id) } : undefined;
    await auditCall(trx, context, 'tunnel.update', row.name, await describeUpdate(trx, { hosts, before: row, set }));
    return row.id;
  });
  if (id !== undefined) deps.feed.tunnelsChanged([id]);
  return getTunnel(deps, membership, segments.name);
}

async function deleteTunnel(deps: TunnelDeps, context: CallContext<'deleteTunnel'>): Promise<void> {
  const { membership, segments, query, nowMs } = context;
  const unkept = parseFlag('Unkept', query.unkept);
  const id = await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const row = await getRow(trx, membership, segments.name);
    refuseSuspended(row);
    if (unkept) await refuseKept(trx, row);
    await deleteTunnelRow(trx, row, nowMs);
    await auditCall(trx, context, 'tunnel.delete', row.name);
    return row.id;
  });
  deps.feed.tunnelsChanged([id]);
}

/** Refuses every value but '0': a caller who means to end the old token at once must not miss a typing error. */
const parseOverlap = (text: string | undefined): boolean =>
  text === undefined || (text !== '0' && refuse('invalid', "Overlap must be '0', or left out."));

async function rotateToken(deps: TunnelDeps, context: CallContext<'rotateToken'>): Promise<Tunnel> {
  const { membership, segments, query, nowMs } = context;
  const overlap = parseOverlap(query.overlap);
  const id = await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const row = await getRow(trx, membership, segments.name);
    await rotateTunnelToken(trx, deps.keyRing, row.id, nowMs, overlap);
    await auditCall(trx, context, 'tunnel.rotate-token', row.name, overlap ? {} : { overlap });
    return row.id;
  });
  deps.feed.tunnelsChanged([id]);
  return getTunnel(deps, membership, segments.name);
}

const ranges = ['hour', 'day', 'week'] as const;

async function getHistory(deps: TunnelDeps, { membership, segments, query }: CallContext<'getHistory'>) {
  const range = ranges.find((each) => each === query.range) ?? refuse('invalid', "Range must be 'hour', 'day' or 'week'.");
  const row = await getRow(deps.store.db, membership, segments.name);
  return deps.feed.history(row.id, range);
}

async function listClients(deps: TunnelDeps, { membership, segments }: CallContext<'listClients'>) {
  const row = await getRow(deps.store.db, membership, segments.name);
  return deps.feed.clients(row.id);
}

async function getLastClient(deps: TunnelDeps, { membership, segments }: CallContext<'getLastClient'>) {
  const row = await getRow(deps.store.db, membership, segments.name);
  const remembered = await readRemembered(deps.store.db, [row.id]);
  return joinLastClient(deps.feed.lastClient(row.id), remembered.get(row.id));
}

export const tunnelHandlers = {
  ...{ createTunnel, updateTunnel, deleteTunnel, rotateToken, listClients, getLastClient, getHistory },
  listTunnels: async (deps, { membership, query, request }) =>
    answerPage(request, await listTunnels(deps, membership, orInvalid(parseListQuery(query, tunnelList)))),
  getTunnel: (deps, { membership, segments, query }) =>
    getTunnel(deps, membership, segments.name, parseFlag('Metrics', query.metrics)),
  startQuickTunnel: async (deps, context) => {
    const { id, name } = await startQuickTunnel(deps, context);
    return answerServing(deps, context.membership, id, name);
  },
  keepTunnel: async (deps, context) => {
    await keepTunnel(deps, context);
    return getTunnel(deps, context.membership, context.segments.name);
  },
  listVisitorLog: async ({ store }, context) => {
    const row = await getRow(store.db, context.membership, context.segments.name);
    return readVisitorLog(store.db, row.id, context);
  },
  listRegions: async ({ store }) => (await listRegionRows(store.db)).map(toRegion),
} satisfies AreaHandlers<TunnelDeps>;
