// Deletes expired rows, table by table. The product refuses expired rows already, so sweeping changes no answer.

import { durations, retentionDays } from '@underpass/rules/limits.ts';
import { sql } from 'kysely';
import { endOfIds } from './id.ts';
import type { Queries, Store } from './store.ts';

const dayMs = 24 * 3600_000;

/** Kept for a day after they expire, so that an operator can look into a complaint. */
const keptADay = ['login_links', 'device_logins', 'invitations', 'api_tokens', 'tunnel_tokens', 'edge_keys', 'leases'] as const;

export const sweepStore = async ({ db, kind }: Store, nowMs: number): Promise<void> => {
  const idleSince = nowMs - durations.sessionIdleDays * dayMs;
  await db
    .deleteFrom('sessions')
    .where((eb) => eb.or([eb('expires_at', '<=', nowMs), eb('seen_at', '<=', idleSince)]))
    .execute();
  for (const table of keptADay) {
    await db
      .deleteFrom(table)
      .where('expires_at', '<=', nowMs - dayMs)
      .execute();
  }
  await db.deleteFrom('spent_answers').where('expires_at', '<=', nowMs).execute();
  await db.deleteFrom('released_names').where('resting_until', '<=', nowMs).execute();
  await forgetRecords(db, nowMs);
  if (kind === 'postgres') await sql`delete from rate_limits where expire <= ${nowMs}`.execute(db);
};

/** Records that the privacy policy keeps for a limited time. */
const forgetRecords = async (db: Queries, nowMs: number): Promise<void> => {
  // By id, which begins with the time: the log is the largest table, and has no index by time.
  await db
    .deleteFrom('audit')
    .where('id', '<', endOfIds(nowMs - retentionDays.auditLog * dayMs))
    .execute();
  await db
    .deleteFrom('registrations')
    .where('state', '<>', 'approved')
    .where('created_at', '<=', nowMs - retentionDays.registration * dayMs)
    .execute();
  await db
    .deleteFrom('abuse_reports')
    .where('state', '=', 'closed')
    .where('created_at', '<=', nowMs - retentionDays.closedAbuseReport * dayMs)
    .execute();
};
