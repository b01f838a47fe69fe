// The operator's blocks: addresses and networks that reach nothing on any edge, and names that no tunnel may have.

import { NetworkSet } from '@underpass/rules/address/network-set.ts';
import type { Block, BlockImport } from '@underpass/rules/entity/resource.ts';
import { blockList, type ListPage } from '@underpass/rules/list/list-page.ts';
import {
  type BlockTarget,
  blockReasonMaxChars,
  heldOwnName,
  mostBlocks,
  parseBlock,
  parseBlockReason,
} from '@underpass/rules/names/block.ts';
import { accept, type Parsed, refuse as refuseText } from '@underpass/rules/parsed.ts';
import { sql } from 'kysely';
import { registrableDomain } from '../edges/dns/registrable.ts';
import { noteBlocks } from '../edges/feed/blocks.ts';
import { ownHosts } from '../edges/region/regions.ts';
import { createId } from '../platform/store/id.ts';
import { type ListedColumns, readListPage } from '../platform/store/list-page.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Queries } from '../platform/store/store.ts';
import { orInvalid, orMissing, refuse } from '../request/http/refusal.ts';
import { darken, lighten } from '../tunnels/domain/blocked-names.ts';
import { type ActingOperator, auditOperator, newest } from './actor.ts';
import { importedLines, importRows } from './import.ts';

const toBlock = (row: Schema['blocks']): Block => ({
  id: row.id,
  kind: row.kind,
  value: row.value,
  reason: row.reason,
  createdBy: row.created_by,
  createdAt: new Date(row.created_at).toISOString(),
});

const kind = sql<string>`case when kind = 'address' then 'Address' else 'Name' end`;

const listed: ListedColumns = {
  id: 'id',
  has: (pattern) => sql`lower(value || ' ' || reason) like ${pattern} escape '\\'`,
  sorts: { value: sql`value`, kind, reason: sql`lower(reason)`, by: sql`created_by`, since: sql`created_at` },
  numbers: ['since'],
  status: kind,
};

export async function listBlocks({ deps }: ActingOperator, query = newest()): Promise<ListPage<Block>> {
  const page = await readListPage(deps.store.db.selectFrom('blocks').selectAll(), listed, query, blockList.statuses);
  return { ...page, rows: page.rows.map(toBlock) };
}

/** The text of a refusal, or the target. `own`: hosts of the service. */
function checkTarget(text: string, address: string, own: readonly string[]): Parsed<BlockTarget> {
  const parsed = parseBlock(text);
  if (!parsed.ok) return parsed;
  const { kind, value } = parsed.value;
  if (kind === 'address') {
    const network = new NetworkSet();
    network.add(value);
    return network.has(address) ? refuseText(`${value} holds your own address, ${address}.`) : parsed;
  }
  const held = heldOwnName(value, own);
  if (held !== undefined) return refuseText(`'${held}' belongs to the service itself.`);
  const isOurs = own.some((host) => value.endsWith(`.${host}`));
  return isOurs || registrableDomain(value) !== null ? accept(parsed.value) : refuseText(`'${value}' is a public suffix.`);
}

interface NewBlock extends BlockTarget {
  readonly reason: string;
}

/** False if it is blocked already. */
async function insertBlock(trx: Queries, { by, nowMs }: ActingOperator, block: NewBlock): Promise<boolean> {
  const row = { id: createId(nowMs), ...block, created_by: by, created_at: nowMs };
  const insert = trx
    .insertInto('blocks')
    .values(row)
    .onConflict((conflict) => conflict.column('value').doNothing());
  return (await insert.returning('id').executeTakeFirst()) !== undefined;
}

async function refuseFull(db: Queries, more: number): Promise<void> {
  const { n } = await db
    .selectFrom('blocks')
    .select((eb) => eb.fn.countAll().as('n'))
    .executeTakeFirstOrThrow();
  if (Number(n) + more > mostBlocks)
    refuse('conflict', `There may be at most ${mostBlocks} blocks. Block wider networks, or delete some.`);
}

/** Call it after the commit: edges hear of the change. */
function tell({ deps }: ActingOperator, targets: readonly BlockTarget[], tunnelIds: readonly string[]): void {
  const addresses = targets.filter(({ kind }) => kind === 'address').map(({ value }) => value);
  if (addresses.length > 0) deps.feed.blocksChanged(addresses);
  if (tunnelIds.length > 0) deps.feed.tunnelsChanged(tunnelIds);
}

export async function createBlock(operator: ActingOperator, text: string, reasonText: string): Promise<Block> {
  const { store, origin } = operator.deps;
  const reason = orInvalid(parseBlockReason(reasonText));
  const target = orInvalid(checkTarget(text, operator.address, await ownHosts(store.db, origin)));
  const tunnelIds = await store.write(async (trx) => {
    await noteBlocks(trx, operator.nowMs);
    await refuseFull(trx, 1);
    if (!(await insertBlock(trx, operator, { ...target, reason }))) refuse('conflict', `'${target.value}' is blocked already.`);
    await auditOperator(trx, operator, { action: 'block.create', target: target.value, detail: { reason } });
    return target.kind === 'name' ? darken(trx, target.value) : [];
  });
  tell(operator, [target], tunnelIds);
  const row = store.db.selectFrom('blocks').selectAll().where('value', '=', target.value);
  return toBlock(orMissing(await row.executeTakeFirst(), 'Block'));
}

/** `key` is an id or a value. */
export async function deleteBlock(operator: ActingOperator, key: string): Promise<Block> {
  const { row, tunnelIds } = await operator.deps.store.write(async (trx) => {
    await noteBlocks(trx, operator.nowMs);
    const found = trx.deleteFrom('blocks').where((eb) => eb.or([eb('id', '=', key), eb('value', '=', key)]));
    const row = orMissing(await found.returningAll().executeTakeFirst(), 'Block');
    await auditOperator(trx, operator, { action: 'block.delete', target: row.value, detail: { reason: row.reason } });
    return { row, tunnelIds: row.kind === 'name' ? await lighten(trx, row.value) : [] };
  });
  tell(operator, [row], tunnelIds);
  return toBlock(row);
}

function readLine(cells: readonly string[] | undefined, address: string, own: readonly string[]): Parsed<NewBlock> {
  if (!cells) return refuseText('not CSV');
  const target = checkTarget(cells[0] ?? '', address, own);
  return target.ok
    ? accept({ ...target.value, reason: (cells[1] ?? '').trim().slice(0, blockReasonMaxChars) || 'Imported' })
    : target;
}

/** Lines of a value and a reason. */
export async function importBlocks(operator: ActingOperator, csv: string): Promise<BlockImport> {
  const lines = importedLines(csv, (line) => !line.startsWith('#'));
  const { store, origin } = operator.deps;
  const own = await ownHosts(store.db, origin);
  await refuseFull(store.db, lines.length);
  const write = async (some: readonly NewBlock[]): Promise<number> => {
    const made: NewBlock[] = [];
    const tunnelIds = await store.write(async (trx) => {
      await noteBlocks(trx, operator.nowMs);
      const ids: string[] = [];
      for (const block of some) {
        if (!(await insertBlock(trx, operator, block))) continue;
        made.push(block);
        if (block.kind === 'name') ids.push(...(await darken(trx, block.value)));
      }
      return ids;
    });
    tell(operator, made, [...new Set(tunnelIds)]);
    return made.length;
  };
  const parse = (cells: readonly string[] | undefined) => readLine(cells, operator.address, own);
  return importRows(operator, { action: 'block.import', lines, parse, writtenAtOnce: 200, write });
}
