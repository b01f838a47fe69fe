// Reads from the store what the edges of a region must hold. The only place that turns rows into feed messages.

import { servingNames } from '@underpass/rules/names/hostname.ts';
import { isCallRule, withoutCalls } from '@underpass/rules/visit/call-rule.ts';
import type { PathRule } from '@underpass/rules/visit/path-rule.ts';
import type { FeedCertificate, FeedChallenge, FeedTunnel, FeedVisit } from '@underpass/wire/feed/feed.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { gather } from '../../platform/store/gather.ts';
import { piecesOf } from '../../platform/store/pieces.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { isOwnId, readOwn, readOwnFacts } from '../own-certificate/own-rows.ts';
import { visitKeyOf } from '../policies/policy-keys.ts';
import { type ReadPolicy, readPolicies } from '../policies/visit-rules.ts';
import { readConsoleHost } from '../region/console-host.ts';
import type { RegionNames } from './core/needed-names.ts';
import { readReach } from './reach-rows.ts';

/** Ids of one query, far under both databases' limits on parameters. Also the tunnels of one message to the edges. */
export const idsAtOnce = 500;
/** Tunnels of one page of a reading of everything: the embedded database blocks control for some 10 ms. */
const pageTunnels = 200;
/** The same for certificates, when all of their keys have to be opened. */
const pageCertificates = 200;

export interface StoredTunnel {
  readonly region: string;
  readonly tunnel: FeedTunnel;
  /** Hosts of the last acknowledgement, joined; null before the first. */
  readonly mark: string | null;
  /** Where the clients of its region dial in. */
  readonly dataPlaneHost: string;
}

const tunnelQuery = (db: Queries) =>
  db
    .selectFrom('tunnels as t')
    .innerJoin('projects as p', 'p.id', 't.project_id')
    .innerJoin('security_groups as g', 'g.id', 't.security_group_id')
    .innerJoin('regions', 'regions.name', 't.region')
    .leftJoin('tunnel_routes as r', 'r.tunnel_id', 't.id')
    .leftJoin('tcp_ports as c', 'c.tunnel_id', 't.id')
    .select(['t.id', 't.project_id', 't.name', 't.type', 't.region', 't.proxy_protocol', 'g.allow_list', 'r.hosts as mark'])
    .select(['t.access_policy_id', 't.visitor_log', 't.visitor_log_query', 'c.port', 't.begins_traces'])
    .select([
      't.suspended_at as tunnel_suspended_at',
      'p.suspended_at as project_suspended_at',
      'p.over_limit_at',
      'regions.data_plane_host',
    ]);

type TunnelRow = Awaited<ReturnType<ReturnType<typeof tunnelQuery>['execute']>>[number];

/** An unreadable list denies. */
function readAllowList(text: string): readonly string[] {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter((rule) => typeof rule === 'string') : [];
  } catch {
    return [];
  }
}

type Token = FeedTunnel['tokens'][number];

async function readTokens(db: Queries, nowMs: number, ids: readonly string[]): Promise<Map<string, Token[]>> {
  const query = db
    .selectFrom('tunnel_tokens')
    .select(['tunnel_id', 'token_hash', 'expires_at'])
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .orderBy('id');
  const rows = await query.where('tunnel_id', 'in', ids).execute();
  return gather(rows, 'tunnel_id', (row) => ({ hash: row.token_hash, expiresAtMs: row.expires_at }));
}

async function readHosts(db: Queries, ids: readonly string[]): Promise<Map<string, string[]>> {
  const query = db
    .selectFrom('tunnel_hosts')
    .select(['tunnel_id', 'live_host'])
    .where('live_host', 'is not', null)
    .orderBy('position');
  const rows = await query.where('tunnel_id', 'in', ids).execute();
  return gather(rows, 'tunnel_id', (row) => row.live_host ?? '');
}

/** The projects among these whose owners are all suspended, and since when: their tunnels are suspended too. */
export async function orphanedProjects(db: Queries, projectIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .where('m.project_id', 'in', projectIds)
    .where('m.role', '=', 'owner')
    .select((eb) => ['m.project_id', eb.fn.max('u.suspended_at').as('since')])
    .groupBy('m.project_id')
    .having((eb) => eb(eb.fn.count('u.suspended_at'), '=', eb.fn.countAll()))
    .execute();
  return new Map(rows.map((row) => [row.project_id, Number(row.since)]));
}

/** What tunnels are read with. */
interface TunnelSource {
  readonly keyRing: KeyRing;
  /** Control's public address without a trailing slash. */
  readonly origin: string;
}

type Policies = ReadonlyMap<string, ReadPolicy>;

function readVisitPolicies(db: Queries, { keyRing }: TunnelSource, nowMs: number, rows: readonly TunnelRow[]) {
  const ids = new Set(rows.flatMap(({ access_policy_id: id }) => (id === null ? [] : [id])));
  return readPolicies(db, keyRing, [...ids], nowMs);
}

/** Edges that know no policies see an empty list and deny, as every edge does for a policy that cannot be read. */
function visitRulesOf(row: TunnelRow, policies: Policies, origin: string): Pick<FeedTunnel, 'allowList' | 'visit'> {
  const allowList = readAllowList(row.allow_list);
  if (row.access_policy_id === null) return { allowList };
  const policy = policies.get(row.access_policy_id);
  return policy === undefined ? { allowList: [] } : { allowList: [], visit: toVisit(policy, allowList, origin, row.region) };
}

const toVisit = (policy: ReadPolicy, allowList: readonly string[], origin: string, region: string): FeedVisit => ({
  ...{ policyId: policy.policyId, allowList, origin, origins: policy.content.origins, ...policy.keys },
  sealKey: visitKeyOf(policy.keys, region).toString('base64url'),
  ...rulesForEdges(policy.rules),
  ...{ grants: policy.grants, tokens: policy.tokens, tokenHeader: policy.tokenHeader },
});

/** Edges of an earlier version take the call of a rule for a part of its path. */
const rulesForEdges = (rules: readonly PathRule[]): Pick<FeedVisit, 'rules' | 'callRules'> =>
  rules.some(isCallRule) ? { rules: withoutCalls(rules), callRules: rules } : { rules };

const isSuspended = (row: TunnelRow): boolean =>
  row.tunnel_suspended_at !== null || row.project_suspended_at !== null || row.over_limit_at !== null;

const visitorLogOf = ({ visitor_log: address, visitor_log_query: query }: TunnelRow): Pick<FeedTunnel, 'visitorLog'> =>
  address === null ? {} : { visitorLog: { address, query: query === 1 } };

async function complete(db: Queries, source: TunnelSource, nowMs: number, rows: readonly TunnelRow[]): Promise<StoredTunnel[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const isPrivate = ({ type, port }: TunnelRow): boolean => type === 'tcp' && port === null;
  const [tokens, hosts, orphaned, policies, reach] = await Promise.all([
    readTokens(db, nowMs, ids),
    readHosts(db, ids),
    orphanedProjects(db, [...new Set(rows.map((row) => row.project_id))]),
    readVisitPolicies(db, source, nowMs, rows),
    readReach(db, source.keyRing, rows.filter(isPrivate), nowMs),
  ]);
  return rows.map((row) => ({
    region: row.region,
    mark: row.mark,
    dataPlaneHost: row.data_plane_host,
    tunnel: {
      id: row.id,
      projectId: row.project_id,
      name: row.name,
      type: row.type,
      hosts: hosts.get(row.id) ?? [],
      tokens: tokens.get(row.id) ?? [],
      ...visitRulesOf(row, policies, source.origin),
      ...visitorLogOf(row),
      ...(row.port === null ? reach(row) : { port: row.port }),
      ...(row.begins_traces === 1 ? { beginsTraces: true as const } : {}),
      proxyProtocol: row.proxy_protocol,
      suspended: isSuspended(row) || orphaned.has(row.project_id),
    },
  }));
}

/** The tunnels after an id, in the order of ids; an empty page is the end. */
export async function readTunnelPage(db: Queries, source: TunnelSource, after: string, nowMs: number): Promise<StoredTunnel[]> {
  const rows = await tunnelQuery(db).where('t.id', '>', after).orderBy('t.id').limit(pageTunnels).execute();
  return complete(db, source, nowMs, rows);
}

export async function readTunnels(
  db: Queries,
  source: TunnelSource,
  ids: readonly string[],
  nowMs: number,
): Promise<StoredTunnel[]> {
  const found: StoredTunnel[] = [];
  for (const some of piecesOf(ids, idsAtOnce)) {
    const rows = await tunnelQuery(db).where('t.id', 'in', some).execute();
    found.push(...(await complete(db, source, nowMs, rows)));
  }
  return found;
}

export const certificateContext = (id: string): string => `certificates/${id}`;
export const challengeContext = (id: string): string => `challenges/${id}`;

const openCertificate = (
  keyRing: KeyRing,
  row: Pick<Schema['certificates'], (typeof certificateColumns)[number]>,
): FeedCertificate => ({
  id: row.id,
  hosts: JSON.parse(row.hosts) as string[],
  certificatePem: row.chain_pem,
  privateKeyPem: keyRing.open(row.key_sealed, certificateContext(row.id)),
  notAfterMs: row.expires_at,
});

const certificateColumns = ['id', 'hosts', 'chain_pem', 'key_sealed', 'expires_at'] as const;

/** Which hosts a certificate serves and until when. */
export type CertificateFacts = Pick<FeedCertificate, 'id' | 'hosts' | 'notAfterMs'>;

/** The ids of certificates after one, in their order; none is the end. Reads only the index. */
export async function readCertificateIds(db: Queries, after: string): Promise<string[]> {
  const own = db.selectFrom('own_certificates').select('id').where('id', '>', after);
  const query = db.selectFrom('certificates').select('id').where('id', '>', after).unionAll(own);
  return (await query.orderBy('id').limit(pageCertificates).execute()).map(({ id }) => id);
}

/** The facts of one page of ids. */
export async function readCertificateFacts(db: Queries, ids: readonly string[]): Promise<CertificateFacts[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('certificates').select(['id', 'hosts', 'expires_at']).where('id', 'in', ids).execute();
  const issued = rows.map((row) => ({ id: row.id, hosts: JSON.parse(row.hosts) as string[], notAfterMs: row.expires_at }));
  return [...issued, ...(await readOwnFacts(db, ids.filter(isOwnId)))];
}

/** The certificates of one page of ids, with their keys. */
export async function readCertificates(db: Queries, keyRing: KeyRing, ids: readonly string[]): Promise<FeedCertificate[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('certificates').select(certificateColumns).where('id', 'in', ids).execute();
  return [...rows.map((row) => openCertificate(keyRing, row)), ...(await readOwn(db, keyRing, 'o.id', ids.filter(isOwnId)))];
}

/** The certificates that could serve these hosts. */
export const readCertificatesFor = (
  db: Queries,
  keyRing: KeyRing,
  hosts: readonly string[],
  nowMs: number,
): Promise<FeedCertificate[]> => readCertificatesNamed(db, keyRing, [...new Set(hosts.flatMap(servingNames))], nowMs);

export async function readCertificatesNamed(
  db: Queries,
  keyRing: KeyRing,
  names: readonly string[],
  nowMs: number,
): Promise<FeedCertificate[]> {
  const found: FeedCertificate[] = [];
  for (const some of piecesOf(names, idsAtOnce)) {
    const rows = await db
      .selectFrom('certificates')
      .select(certificateColumns)
      .where('name', 'in', some)
      .where('expires_at', '>', nowMs)
      .execute();
    found.push(...rows.map((row) => openCertificate(keyRing, row)));
    const own = await readOwn(db, keyRing, 'o.host', some);
    found.push(...own.filter(({ notAfterMs }) => notAfterMs > nowMs));
  }
  return found;
}

/** Challenges by region. */
export async function readChallenges(db: Queries, keyRing: KeyRing, nowMs: number): Promise<Map<string, FeedChallenge[]>> {
  const rows = await db.selectFrom('challenges').selectAll().where('expires_at', '>', nowMs).execute();
  const open = (row: (typeof rows)[number]): FeedChallenge =>
    JSON.parse(keyRing.open(row.payload_sealed, challengeContext(row.id))) as FeedChallenge;
  return gather(rows, 'region', open);
}

export async function readRegions(db: Queries): Promise<RegionNames[]> {
  const rows = await db.selectFrom('regions').select(['name', 'data_plane_host', 'wildcard_ingress_domain']).execute();
  const console = await readConsoleHost(db);
  return rows.map((row) => ({
    consoleHost: console?.region === row.name ? console.host : null,
    region: row.name,
    dataPlaneHost: row.data_plane_host,
    wildcardDomain: row.wildcard_ingress_domain,
  }));
}
