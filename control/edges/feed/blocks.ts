// Blocked addresses in the store, as the feed reads them. A note changes with every write to the table, so that reading everything
// again, three times a minute, does not read thousands of blocks that are the same.

import type { FeedBlock } from '@underpass/wire/feed/feed.ts';
import { createId } from '../../platform/store/id.ts';
import { readSetting, writeSetting } from '../../platform/store/setting.ts';
import type { Queries } from '../../platform/store/store.ts';

const settingName = 'blocks-changed';
const pageBlocks = 2_000;

/** Call it in the transaction of every change. Writers wait for each other here, so the last note belongs to the last commit. */
export const noteBlocks = (trx: Queries, nowMs: number): Promise<void> => writeSetting(trx, settingName, createId(nowMs));

/** Undefined if there has never been a block. */
export const readBlocksNote = (db: Queries): Promise<string | undefined> => readSetting<string>(db, settingName);

const blocksIn = (db: Queries) => db.selectFrom('blocks').select('value as id').where('kind', '=', 'address');

/** The values among these that are blocked now. */
export const readBlocks = (db: Queries, values: readonly string[]): Promise<FeedBlock[]> =>
  values.length === 0 ? Promise.resolve([]) : blocksIn(db).where('value', 'in', values).execute();

/** The blocks after a value, in the order of values; an empty page is the end. */
export const readBlockPage = (db: Queries, after: string): Promise<FeedBlock[]> =>
  blocksIn(db).where('value', '>', after).orderBy('value').limit(pageBlocks).execute();
