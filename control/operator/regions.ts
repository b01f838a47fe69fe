// The operator's view of regions: creates, changes and deletes them, and makes keys for their edges.

import { regionDescriptionMaxChars, regionNamePattern } from '@underpass/rules/entity/region.ts';
import type { OperatorRegion, RegionKey } from '@underpass/rules/entity/resource.ts';
import { parseHostname } from '@underpass/rules/names/hostname.ts';
import { parseSingleLine } from '@underpass/rules/text/single-line.ts';
import { formatPortRange, parsePortRange } from '@underpass/rules/tunnel/port-range.ts';
import { readOwnProblems } from '../edges/certificate/certificate-rows.ts';
import { addChangedColumns, forgetChangedColumns, readChangedColumns } from '../edges/region/changed-columns.ts';
import { type KeyRotation, listRegionRows, rotateEdgeKey, toRegion } from '../edges/region/regions.ts';
import type { Schema } from '../platform/store/schema.ts';
import { isForeignKeyViolation, isUniqueViolation, type Queries } from '../platform/store/store.ts';
import type { CallContext } from '../request/caller/call.ts';
import { orInvalid, orMissing, refuse } from '../request/http/refusal.ts';
import { type ActingOperator, auditOperator } from './actor.ts';
import { countTunnels } from './tunnels.ts';

export async function listOperatorRegions({ deps }: ActingOperator): Promise<OperatorRegion[]> {
  const { db } = deps.store;
  const rows = await listRegionRows(db);
  const names = rows.map((row) => row.name);
  const [tunnels, problems] = await Promise.all([countTunnels(db, 'region', names), readOwnProblems(db)]);
  return rows.map((row) => ({
    ...toRegion(row),
    dataPlaneHost: row.data_plane_host,
    httpsPort: row.https_port,
    httpPort: row.http_port,
    tunnels: tunnels.get(row.name) ?? 0,
    ...(problems.has(row.name) ? { certificateProblem: problems.get(row.name)! } : {}),
  }));
}

const findOperatorRegion = async (operator: ActingOperator, name: string): Promise<OperatorRegion> =>
  orMissing(
    (await listOperatorRegions(operator)).find((region) => region.name === name),
    'Region',
  );

type NewRegion = CallContext<'createRegion'>['body'];

const parseName = (text: string): string =>
  regionNamePattern.test(text) ? text : refuse('invalid', 'Name must be lower-case letters, digits and hyphens.');

function parseHost(text: string): string {
  const host = parseHostname(text);
  return host?.includes('.') ? host : refuse('invalid', `'${text}' is not a valid domain name.`);
}

function parseWildcard(text: string | undefined): string | null {
  const bare = (text ?? '').replace(/^\*\./, '');
  return bare === '' ? null : parseHost(bare);
}

/** Null for an empty text: no tcp tunnels. */
const parsePorts = (text: string | undefined): string | null =>
  text === undefined || text === '' ? null : formatPortRange(orInvalid(parsePortRange(text)));

const parsePort = (port: number): number =>
  Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : refuse('invalid', `A port must be from 1 to 65535, is ${port}.`);

const parseDescription = (text: string): string =>
  orInvalid(parseSingleLine(text, { required: true, maxChars: regionDescriptionMaxChars }));

const toRow = (region: NewRegion, nowMs: number): Schema['regions'] => ({
  name: parseName(region.name),
  description: parseDescription(region.description),
  available: region.available === false ? 0 : 1,
  tls_termination: region.tlsTermination ? 1 : 0,
  wildcard_ingress_domain: parseWildcard(region.wildcardIngressDomain),
  tcp_ports: parsePorts(region.tcpPorts),
  data_plane_host: parseHost(region.dataPlaneHost),
  https_port: parsePort(region.httpsPort ?? 443),
  http_port: parsePort(region.httpPort ?? 80),
  created_at: nowMs,
});

export async function createRegion(operator: ActingOperator, region: NewRegion): Promise<OperatorRegion> {
  const { deps, nowMs } = operator;
  const row = toRow(region, nowMs);
  try {
    await deps.store.write(async (trx) => {
      await trx.insertInto('regions').values(row).execute();
      await auditOperator(trx, operator, { action: 'region.create', target: row.name });
    });
  } catch (error) {
    if (isUniqueViolation(error)) refuse('conflict', `Region '${row.name}' or its data plane host already exists`);
    throw error;
  }
  deps.feed.regionChanged(row.name);
  return findOperatorRegion(operator, row.name);
}

/**
 * The first region of a server that runs everything. Every start applies the settings again, except to what an operator
 * changed.
 */
export async function ensureRegion(operator: ActingOperator, region: NewRegion): Promise<void> {
  const row = toRow(region, operator.nowMs);
  await operator.deps.store.write(async (trx) => {
    const kept = new Set<string>(['created_at', 'available', ...(await readChangedColumns(trx, row.name))]);
    const settings = Object.fromEntries(Object.entries(row).filter(([column]) => !kept.has(column)));
    const insert = trx.insertInto('regions').values(row);
    await insert.onConflict((conflict) => conflict.column('name').doUpdateSet(settings)).execute();
  });
}

type RegionChange = CallContext<'changeRegion'>['body'];

const columnsOf = ({ description, available, tlsTermination, wildcardIngressDomain, tcpPorts }: RegionChange) => ({
  ...(description === undefined ? {} : { description: parseDescription(description) }),
  ...(available === undefined ? {} : { available: available ? (1 as const) : (0 as const) }),
  ...(tlsTermination === undefined ? {} : { tls_termination: tlsTermination ? (1 as const) : (0 as const) }),
  ...(wildcardIngressDomain === undefined ? {} : { wildcard_ingress_domain: parseWildcard(wildcardIngressDomain) }),
  ...(tcpPorts === undefined ? {} : { tcp_ports: parsePorts(tcpPorts) }),
});

async function refuseInUse(trx: Queries, name: string): Promise<void> {
  const count = (await countTunnels(trx, 'region', [name])).get(name) ?? 0;
  if (count > 0)
    refuse('conflict', `Region '${name}' has ${count} ${count === 1 ? 'tunnel' : 'tunnels'}. Delete its tunnels first.`);
}

/** Locks the region's row until the transaction ends, so that no other transaction deletes it. */
async function lockRegion(trx: Queries, name: string): Promise<void> {
  const update = trx.updateTable('regions').set({ name }).where('name', '=', name);
  orMissing(await update.returning('name').executeTakeFirst(), 'Region');
}

export async function changeRegion(operator: ActingOperator, name: string, change: RegionChange): Promise<OperatorRegion> {
  const set = columnsOf(change);
  if (Object.keys(set).length === 0) refuse('invalid', 'Nothing to change.');
  await operator.deps.store.write(async (trx) => {
    await lockRegion(trx, name);
    const before = await trx.selectFrom('regions').selectAll().where('name', '=', name).executeTakeFirstOrThrow();
    // The panel sends every field. What it sends unchanged still follows the settings.
    const changed = (Object.keys(set) as (keyof typeof set)[]).filter((column) => set[column] !== before[column]);
    // Its tunnels were made for the TLS that it has.
    if (changed.includes('tls_termination')) await refuseInUse(trx, name);
    await trx.updateTable('regions').set(set).where('name', '=', name).execute();
    await addChangedColumns(trx, name, changed);
    await auditOperator(trx, operator, { action: 'region.change', target: name, detail: { ...change } });
  });
  operator.deps.feed.regionChanged(name);
  return findOperatorRegion(operator, name);
}

const removeUnused = (operator: ActingOperator, name: string): Promise<void> =>
  operator.deps.store.write(async (trx) => {
    await refuseInUse(trx, name);
    const row = await trx.deleteFrom('regions').where('name', '=', name).returning('name').executeTakeFirst();
    orMissing(row, 'Region');
    await forgetChangedColumns(trx, name);
    await auditOperator(trx, operator, { action: 'region.delete', target: name });
  });

export async function deleteRegion(operator: ActingOperator, name: string): Promise<void> {
  try {
    await removeUnused(operator, name);
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error;
    // A tunnel was made after the count.
    refuse('conflict', `Region '${name}' has tunnels`);
  }
  operator.deps.feed.regionChanged(name);
}

export async function createRegionKey(operator: ActingOperator, name: string, why: KeyRotation = 'overlap'): Promise<RegionKey> {
  const key = await operator.deps.store.write(async (trx) => {
    await lockRegion(trx, name);
    await auditOperator(trx, operator, { action: 'region.key', target: name, detail: { why } });
    return rotateEdgeKey(trx, name, operator.nowMs, why);
  });
  operator.deps.feed.regionChanged(name);
  return { key };
}
