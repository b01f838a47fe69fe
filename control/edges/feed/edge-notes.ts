// The health of all edges, stored in one row, once a minute and soon after an edge comes or goes. Commands that run beside the
// server read it, and a control process that starts learns from it which edges its regions have.

import type { EdgeHealth } from '@underpass/rules/entity/resource.ts';
import type { FeedCopy } from '@underpass/wire/feed/feed.ts';
import { readSetting, writeSetting } from '../../platform/store/setting.ts';
import type { Queries } from '../../platform/store/store.ts';

const settingName = 'edges-noted';

/** An edge, and where the others of its region reach it. */
export interface KnownEdge extends EdgeHealth {
  readonly hopAddress?: string | undefined;
  readonly copy?: FeedCopy | undefined;
}

export interface EdgeNote extends KnownEdge {
  /** ISO 8601. */
  readonly notedAt: string;
}

export async function noteEdges(db: Queries, edges: readonly KnownEdge[], nowMs: number): Promise<void> {
  const notedAt = new Date(nowMs).toISOString();
  const notes = edges.map((edge): EdgeNote => ({ ...edge, notedAt }));
  await writeSetting(db, settingName, notes);
}

export const readEdgeNotes = async (db: Queries): Promise<readonly EdgeNote[]> =>
  (await readSetting<EdgeNote[]>(db, settingName)) ?? [];
