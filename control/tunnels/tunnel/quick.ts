// Quick tunnels: `underpass http PORT` makes one for its folder, or takes the one that is there. The label comes from a secret of
// this installation and from who asks, so no other caller gets it with any key. expiry.ts deletes tunnels that no client carries.

import { createHmac } from 'node:crypto';
import type { Region } from '@underpass/rules/entity/entity.ts';
import { defaultRegion, generatorDomain, parseRegion, tunnelTypesOf } from '@underpass/rules/entity/region.ts';
import { durations } from '@underpass/rules/limits.ts';
import { isChosenLabel } from '@underpass/rules/names/chosen-label.ts';
import { parseIngressDomains } from '@underpass/rules/names/ingress-domain.ts';
import { defaultSecurityGroupName } from '@underpass/rules/text/security-group-name.ts';
import { parseFolderKey, parseLastsSeconds, renderQuickLabel } from '@underpass/rules/tunnel/quick-tunnel.ts';
import { parseTunnelName } from '@underpass/rules/tunnel/tunnel-name.ts';
import { parseTunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import { listRegionRows, ownHosts, toRegion } from '../../edges/region/regions.ts';
import { keepSecret, sealedPrefixes } from '../../platform/secret/sealed-setting.ts';
import { createToken } from '../../platform/secret/token.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { userShare } from '../../request/caller/allowance.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { CallContext } from '../../request/caller/call.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import { lockUser } from '../../request/caller/user-lock.ts';
import type { CallDeps } from '../../request/deps.ts';
import { nextUpdate } from '../../request/http/if-match.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { isNameFree, writeHosts } from './ingress-hosts.ts';
import { type FreshPortTurn, withFreshPortTurn } from './public-port.ts';
import { findTunnelRow, refuseSuspended } from './tunnels.ts';
import {
  describeUpdate,
  generatedNames,
  getGroupId,
  getPolicyId,
  hostNames,
  insertTunnel,
  refuseHosts,
  takeTunnelName,
  writeUnlessTaken,
} from './write-tunnel.ts';

export interface QuickDeps extends Pick<CallDeps, 'store' | 'keyRing' | 'limiter' | 'origin'> {
  readonly feed: { tunnelsChanged(ids: readonly string[]): void };
  /** How many one person may have at once; 0 switches them off. */
  readonly quickTunnels: number;
  readonly chosenNames: boolean;
}

/** An ingress tunnel needs a domain and a service that ends TLS: nothing about it is quick. */
type QuickType = 'http' | 'tcp';

function parseType(text: string | undefined): QuickType {
  const type = orInvalid(parseTunnelType(text ?? 'http'));
  return type === 'ingress' ? refuse('invalid', 'A quick tunnel is of type http or tcp.') : type;
}

type Start = CallContext<'startQuickTunnel'>;

interface Wish {
  readonly type: QuickType;
  readonly label: string;
  readonly name: string;
  readonly region: Region;
  /** Undefined: a name under the region's wildcard domain. */
  readonly hosts: readonly string[] | undefined;
  /** The name that the person chose there; null: none, or the operator does not permit it. */
  readonly chosenHost: string | null;
  readonly securityGroup: string | undefined;
  /** Undefined: as it is; empty: none. */
  readonly accessPolicy: string | undefined;
  readonly lease: Pick<Schema['quick_tunnels'], 'expires_at' | 'ends_at'>;
}

export const quickLeaseMs = durations.quickLeaseMinutes * 60_000;

/** Never beyond the end that the person set. */
export const leaseFrom = (nowMs: number, endsAt: number | null): number => Math.min(nowMs + quickLeaseMs, endsAt ?? Infinity);

const offMessage = 'The operator has switched quick tunnels off. Add a tunnel, and connect it by its name.';
const shownTunnels = 10;

/** Names of the project at hand only: an API token may know no other. */
function tooManyMessage(most: number, names: readonly string[], elsewhere: number): string {
  const more = names.length - shownTunnels;
  const list = [
    ...names.slice(0, shownTunnels),
    ...(more > 0 ? [`${more} more`] : []),
    ...(elsewhere > 0 ? [`${elsewhere} in other projects`] : []),
  ].join(', ');
  return (
    `You may have at most ${most} quick ${most === 1 ? 'tunnel' : 'tunnels'} at once. Stop or keep one of them: ${list}. ` +
    'Its client stops with Ctrl-C; "underpass tunnels rm NAME" deletes it from elsewhere.'
  );
}

async function chooseRegion(db: Queries, type: QuickType, asked: string | undefined, needsName: boolean): Promise<Region> {
  const all = (await listRegionRows(db)).map(toRegion);
  const offers = (each: Region): boolean => tunnelTypesOf(each).includes(type);
  const fits = all.filter((each) => offers(each) && (!needsName || generatorDomain(each, 'http') !== null));
  const region = asked === undefined ? defaultRegion(fits) : orInvalid(parseRegion(all, asked, type));
  if (region === undefined)
    return refuse('invalid', `No available region offers ${type === 'http' ? 'quick' : `quick ${type}`} tunnels.`);
  if (needsName && generatorDomain(region, 'http') === null)
    refuse('invalid', `Region '${region.name}' cannot generate a name. Give a domain.`);
  return region;
}

/** The same for the same person, project, region, folder and name; two different ones never share a label. */
async function labelFor(deps: QuickDeps, { caller, membership, body }: Start, region: string): Promise<string> {
  const secret = await keepSecret(deps.store, deps.keyRing, sealedPrefixes.quickNames, createToken);
  const about = JSON.stringify([
    caller.userId,
    membership.id,
    region,
    orInvalid(parseFolderKey(body.key)),
    body.name ?? '',
    ...(body.type === 'tcp' ? ['tcp'] : []),
  ]);
  return renderQuickLabel(createHmac('sha256', secret).update(about).digest());
}

async function parseWish(deps: QuickDeps, context: Start): Promise<Wish> {
  const { body, nowMs } = context;
  const given = body.name === undefined ? undefined : orInvalid(parseTunnelName(body.name));
  const asked = body.ingressDomains ?? [];
  const type = parseType(body.type);
  refuseHosts(type, asked);
  // A tcp tunnel has no name, neither its own nor a generated one.
  const hosts = type === 'tcp' ? [] : asked.length === 0 ? undefined : orInvalid(parseIngressDomains(asked));
  const region = await chooseRegion(deps.store.db, type, body.region, hosts === undefined);
  const label = await labelFor(deps, context, region.name);
  const endsAt = body.lastsSeconds === undefined ? null : nowMs + orInvalid(parseLastsSeconds(body.lastsSeconds)) * 1000;
  const kept = body.keep === true;
  if (kept && endsAt !== null) refuse('invalid', 'A tunnel that is kept has no end.');
  const lease = { expires_at: kept ? null : leaseFrom(nowMs, endsAt), ends_at: endsAt };
  const { securityGroup, accessPolicy } = body;
  const takesChoice = deps.chosenNames && hosts === undefined && given !== undefined && isChosenLabel(given);
  const chosenHost = takesChoice ? `${given}.${generatorDomain(region, 'http')}` : null;
  return { type, label, name: given ?? label, region, hosts, chosenHost, securityGroup, accessPolicy, lease };
}

const findQuick = (db: Queries, projectId: string, label: string) =>
  db
    .selectFrom('quick_tunnels as q')
    .innerJoin('tunnels as t', 't.id', 'q.tunnel_id')
    .selectAll('t')
    .select(['q.expires_at', 'q.ends_at'])
    .where('q.label', '=', label)
    .where('t.project_id', '=', projectId)
    .executeTakeFirst();

/** Kept tunnels count for the project only. */
async function takePersonQuota(trx: Queries, userId: string, projectId: string, most: number): Promise<void> {
  await lockUser(trx, userId);
  const quick = trx.selectFrom('quick_tunnels as q').innerJoin('tunnels as t', 't.id', 'q.tunnel_id');
  const own = quick.select(['t.name', 't.project_id']).where('q.user_id', '=', userId);
  const rows = await own.where('q.expires_at', 'is not', null).orderBy('t.id').execute();
  if (rows.length < most) return;
  const names = rows.filter((row) => row.project_id === projectId).map(({ name }) => name);
  refuse('conflict', tooManyMessage(most, names, rows.length - names.length));
}

interface Writing {
  readonly context: Start;
  readonly wish: Wish;
  readonly ownHosts: readonly string[];
  readonly turn: FreshPortTurn;
}

/** The chosen name if it is free, else the generated one. */
async function nameHost(trx: Queries, { context, wish, ownHosts }: Writing): Promise<string> {
  const { membership, nowMs } = context;
  const { chosenHost, label, region } = wish;
  const isFree =
    chosenHost !== null && !ownHosts.includes(chosenHost) && (await isNameFree(trx, chosenHost, nowMs, membership.id));
  return isFree ? chosenHost : `${label}.${generatorDomain(region, 'http')}`;
}

async function insertQuick(deps: QuickDeps, trx: Queries, writing: Writing): Promise<string> {
  const { context, wish, ownHosts, turn } = writing;
  const { membership, caller } = context;
  await takePersonQuota(trx, caller.userId, membership.id, deps.quickTunnels);
  await takeTunnelName(trx, membership, wish.name);
  const generated = wish.hosts === undefined ? [await nameHost(trx, writing)] : [];
  const tunnel = {
    name: wish.name,
    type: wish.type,
    region: wish.region.name,
    isPrivate: false,
    proxyProtocol: '' as const,
    securityGroup: wish.securityGroup ?? defaultSecurityGroupName,
    accessPolicy: wish.accessPolicy,
    hosts: wish.hosts ?? generated,
    generated: new Set(generated),
    maker: 'quick' as const,
  };
  const id = await insertTunnel(trx, { ...deps, ownHosts, turn }, context, tunnel, { quick: true, ...expiryDetail(wish.lease) });
  const row = { tunnel_id: id, user_id: caller.userId, label: wish.label, ...wish.lease };
  await trx.insertInto('quick_tunnels').values(row).execute();
  return id;
}

const expiryDetail = ({ expires_at, ends_at }: Wish['lease']): Readonly<Record<string, unknown>> => ({
  ...(expires_at === null ? { kept: true } : {}),
  ...(ends_at === null ? {} : { endsAt: new Date(ends_at).toISOString() }),
});

type QuickRow = Schema['tunnels'] & Pick<Schema['quick_tunnels'], 'expires_at' | 'ends_at'>;

/** Changes what the caller names, and leaves the rest: somebody may have set it on purpose. A kept tunnel stays kept. */
async function reuseQuick(trx: Queries, row: QuickRow, { context, wish, ownHosts }: Writing): Promise<void> {
  const { membership, nowMs } = context;
  refuseSuspended(row);
  const { hosts } = wish;
  const generated = await generatedNames(trx, row.id);
  const before = await hostNames(trx, row.id);
  const hostsChanged =
    hosts !== undefined &&
    wish.type === 'http' &&
    (await writeHosts(trx, { membership, tunnelId: row.id, hosts, generated, ownHosts, nowMs, maker: 'quick' }));
  const group = wish.securityGroup === undefined ? row.security_group_id : await getGroupId(trx, membership, wish.securityGroup);
  const asked = wish.accessPolicy;
  const policy = asked === undefined ? row.access_policy_id : await getPolicyId(trx, membership, { name: asked, type: row.type });
  const keeps = row.expires_at !== null && wish.lease.expires_at === null;
  if (row.expires_at !== null) await trx.updateTable('quick_tunnels').set(wish.lease).where('tunnel_id', '=', row.id).execute();
  if (hostsChanged || group !== row.security_group_id || policy !== row.access_policy_id) {
    const set = { security_group_id: group, access_policy_id: policy, updated_at: nextUpdate(row.updated_at, nowMs) };
    await trx.updateTable('tunnels').set(set).where('id', '=', row.id).execute();
    const changed = hostsChanged ? { before, after: await hostNames(trx, row.id) } : undefined;
    const detail = await describeUpdate(trx, { hosts: changed, before: row, set });
    await auditCall(trx, context, 'tunnel.update', row.name, detail);
  }
  if (keeps) await auditCall(trx, context, 'tunnel.keep', row.name);
}

export async function startQuickTunnel(deps: QuickDeps, context: Start): Promise<{ readonly id: string; readonly name: string }> {
  const { membership, caller } = context;
  if (deps.quickTunnels === 0) refuse('invalid', offMessage);
  const wish = await parseWish(deps, context);
  const isKnown = (await findQuick(deps.store.db, membership.id, wish.label)) !== undefined;
  if (!isKnown && wish.hosts === undefined)
    await deps.limiter.take(wish.chosenHost === null ? 'generatedNamePerUser' : 'chosenNamePerUser', userShare(caller));
  const own = await ownHosts(deps.store.db, deps.origin);
  const write = async (trx: Queries, turn: FreshPortTurn) => {
    const writing = { context, wish, ownHosts: own, turn };
    await lockProject(trx, membership.id);
    const row = await findQuick(trx, membership.id, wish.label);
    if (row === undefined) return { id: await insertQuick(deps, trx, writing), name: wish.name };
    await reuseQuick(trx, row, writing);
    return { id: row.id, name: row.name };
  };
  return withFreshPortTurn(deps.limiter, { caller, type: wish.type, isPrivate: false }, (turn) =>
    writeUnlessTaken(deps.store, (trx) => write(trx, turn)),
  );
}

const findExpiry = (db: Queries, tunnelId: string) =>
  db
    .selectFrom('quick_tunnels')
    .selectAll()
    .where('tunnel_id', '=', tunnelId)
    .where('expires_at', 'is not', null)
    .executeTakeFirst();

/** Refuses a client that ends, if somebody has kept its tunnel in the meantime. The project must be locked. */
export async function refuseKept(trx: Queries, { id, name }: { readonly id: string; readonly name: string }): Promise<void> {
  if (!(await findExpiry(trx, id))) refuse('conflict', `Tunnel '${name}' is kept`);
}

/** Nothing happens to a tunnel that has no expiry. */
export const keepTunnel = (deps: QuickDeps, context: CallContext<'keepTunnel'>): Promise<void> =>
  deps.store.write(async (trx) => {
    const { membership, segments } = context;
    await lockProject(trx, membership.id);
    const row = orMissing(await findTunnelRow(trx, membership.id, segments.name), 'Tunnel');
    refuseSuspended(row);
    if (!(await findExpiry(trx, row.id))) return;
    await trx.updateTable('quick_tunnels').set({ expires_at: null, ends_at: null }).where('tunnel_id', '=', row.id).execute();
    await auditCall(trx, context, 'tunnel.keep', row.name);
  });
