// Deletes expired rows, table by table. Only jobs, leases and challenges of certificates also go where they are used. The product
// refuses expired rows already, so sweeping changes no answer. A sweep cannot be undone, so it waits while the time is in doubt, and before it empties a table.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { alertLimits, dayMs, durations, hourMs, retentionDays } from '@underpass/rules/limits.ts';
import { visitorLogBounds } from '@underpass/rules/tunnel/visitor-log.ts';
import { webhookLimits } from '@underpass/rules/tunnel/webhook.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Logger } from 'pino';
import { attemptsKeptMs } from '../edges/certificate/core/budget.ts';
import { historyKeptMs } from '../edges/feed/core/history-points.ts';
import { endOfIds } from '../platform/store/id.ts';
import { announce, lookAtClock } from '../platform/store/known-time.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Queries, Store } from '../platform/store/store.ts';
import { expiredHistory, keepHistoryPartitions, type RestTable, rollUpHistory } from './history.ts';

/** Certificates stay for a week after they expire. */
const certificatesKeptMs = 7 * dayMs;

/** Rows of one statement. It is short because SQLite runs one write at a time. */
const rowsAtOnce = 500;
/** The rest waits for the next sweep, ten minutes later. */
const statementsPerTable = 40;
/** A sweep that would take more than half of a table, and more rows than this, waits for a day first. */
const fewRows = 20;

interface Rule {
  readonly table: keyof Schema | RestTable;
  readonly expired: (nowMs: number) => RawBuilder<SqlBool>;
  /** True if few rows of the table expire in any one sweep. */
  readonly lasting?: boolean;
  /** The columns that name a row, if they are not `id`. */
  readonly key?: string | readonly string[];
  /** The most statements in one sweep. */
  readonly statements?: number;
}

const before = (column: string, time: number | string): RawBuilder<SqlBool> => sql<SqlBool>`${sql.ref(column)} <= ${time}`;
/** Kept for a day after they expire, so that an operator can look into a complaint. */
const expiredADay = (nowMs: number): RawBuilder<SqlBool> => before('expires_at', nowMs - dayMs);
const idle = (nowMs: number) => before('seen_at', nowMs - durations.sessionIdleDays * dayMs);

/** Links that owners made by name stay in sight as long as the sign-ins with them. */
const endedLongAgo = (nowMs: number): RawBuilder<SqlBool> => before('expires_at', nowMs - retentionDays.accessSignIn * dayMs);
const longestVisitMs = policyLimits.sessionHoursMost * hourMs;

const rules: readonly Rule[] = [
  { table: 'sessions', lasting: true, expired: (now) => sql`(${before('expires_at', now)} or ${idle(now)})` },
  { table: 'known_browsers', lasting: true, expired: (now) => before('seen_at', now - durations.knownBrowserDays * dayMs) },
  { table: 'invitations', lasting: true, expired: expiredADay },
  { table: 'used_invitations', lasting: true, expired: (now) => before('expires_at', now), key: 'token_hash' },
  { table: 'api_tokens', lasting: true, expired: expiredADay },
  { table: 'login_links', expired: expiredADay },
  { table: 'device_logins', expired: expiredADay },
  { table: 'tunnel_tokens', expired: expiredADay },
  { table: 'edge_keys', expired: expiredADay },
  { table: 'leases', expired: expiredADay, key: 'name' },
  // The queue deletes the others itself: no control here knows the kind of these.
  { table: 'jobs', expired: expiredADay },
  { table: 'spent_answers', expired: (now) => before('expires_at', now), key: 'answer_hash' },
  { table: 'released_names', expired: (now) => before('resting_until', now), key: 'host' },
  { table: 'tcp_ports', key: ['region', 'port'], expired: (now) => sql`(tunnel_id is null and ${before('held_until', now)})` },
  { table: 'certificates', lasting: true, expired: (now) => before('expires_at', now - certificatesKeptMs) },
  { table: 'certificate_attempts', expired: (now) => before('at', now - attemptsKeptMs) },
  {
    table: 'metric_minutes',
    key: ['tunnel_id', 'minute_at'],
    expired: (now) => sql`minute_at < ${now - historyKeptMs}`,
  },
  { table: 'visitor_log', expired: (now) => before('at', now - visitorLogBounds.keptMs) },
  { table: 'usage_hours', key: ['hour_at', 'project_id'], expired: (now) => sql`hour_at < ${now - retentionDays.usage * dayMs}` },
  { table: 'access_flows', expired: (now) => before('expires_at', now) },
  // A row outlives the longest session that it ends.
  { table: 'access_sign_outs', key: ['policy_id', 'subject'], expired: (now) => before('at', now - longestVisitMs) },
  // Anybody may register programs. Those that no visitor allowed go first, so that a flood of them leaves nothing.
  { table: 'access_clients', expired: (now) => sql`(used_at = created_at and ${before('created_at', now - 7 * dayMs)})` },
  { table: 'access_clients', lasting: true, expired: (now) => before('used_at', now - durations.accessClientDays * dayMs) },
  { table: 'access_tokens', lasting: true, expired: endedLongAgo },
  { table: 'access_links', lasting: true, expired: endedLongAgo },
  { table: 'reach_tickets', lasting: true, expired: endedLongAgo },
  // What follows is kept as long as the privacy policy says. The log by id, which begins with the time: it is the largest
  // table, and has no index by time.
  { table: 'audit', lasting: true, expired: (now) => before('id', endOfIds(now - retentionDays.auditLog * dayMs)) },
  {
    table: 'alert_deliveries',
    lasting: true,
    expired: (now) => sql`(state <> 'waiting' and ${before('id', endOfIds(now - webhookLimits.logDays * dayMs))})`,
  },
  { table: 'alerts', expired: (now) => before('closed_at', now - alertLimits.keptDays * dayMs) },
  { table: 'access_sign_ins', lasting: true, expired: (now) => before('at', now - retentionDays.accessSignIn * dayMs) },
  {
    table: 'registrations',
    lasting: true,
    expired: (now) => sql`(state <> 'approved' and ${before('created_at', now - retentionDays.registration * dayMs)})`,
  },
  {
    table: 'abuse_reports',
    lasting: true,
    expired: (now) => sql`(state = 'closed' and ${before('created_at', now - retentionDays.closedAbuseReport * dayMs)})`,
  },
];

/** A row a minute for each tunnel with a client: in ten minutes, a million for a region of 100,000. */
const statementsOfHistory = 2_000;

const historyRules = async (store: Store, nowMs: number): Promise<readonly Rule[]> =>
  (await expiredHistory(store, nowMs)).map(({ table, beforeMs }) => ({
    ...{ table, key: ['start_at', 'tunnel_id'], statements: statementsOfHistory },
    expired: () => sql`start_at < ${beforeMs}`,
  }));

async function count(db: Queries, from: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${from}`.execute(db);
  return Number(rows[0]?.n ?? 0);
}

/** Whether most of a table has expired. Counts the whole table only if many rows have: the log is large. */
async function losesMost(db: Queries, { table, expired }: Rule, nowMs: number): Promise<boolean> {
  const gone = sql`${sql.table(table)} where ${expired(nowMs)}`;
  if ((await count(db, sql`(select 1 from ${gone} limit ${fewRows + 1}) as found`)) <= fewRows) return false;
  return (await count(db, gone)) * 2 > (await count(db, sql.table(table)));
}

async function deleteExpired(db: Queries, rule: Rule, nowMs: number): Promise<void> {
  const { table, key = 'id', expired, statements = statementsPerTable } = rule;
  const columns = sql.join([key].flat().map((column) => sql.ref(column)));
  for (let done = 0; done < statements; done++) {
    const some = sql`select ${columns} from ${sql.table(table)} where ${expired(nowMs)} limit ${rowsAtOnce}`;
    // Postgres looks again only at the outer condition if somebody has changed the row: it may have a new use.
    const stillExpired = sql`(${columns}) in (${some}) and ${expired(nowMs)}`;
    const deleted = await sql`delete from ${sql.table(table)} where ${stillExpired}`.execute(db);
    if (Number(deleted.numAffectedRows ?? 0) < rowsAtOnce) return;
    // The embedded database answers within the turn: calls of the API need turns between.
    await nextTurn();
  }
}

/** Another release may have deleted the tunnel: its port is then neither held nor does it rest. */
const restLostPorts = (db: Queries, nowMs: number) =>
  db
    .updateTable('tcp_ports')
    .set({ held_until: nowMs + durations.portRestDays * dayMs })
    .where('tunnel_id', 'is', null)
    .where('held_until', 'is', null)
    .execute();

export async function deleteAllExpired(store: Store, nowMs: number): Promise<void> {
  const { db, kind } = store;
  await restLostPorts(db, nowMs);
  for (const rule of [...rules, ...(await historyRules(store, nowMs))]) await deleteExpired(db, rule, nowMs);
  if (kind === 'postgres') await sql`delete from rate_limits where expire <= ${nowMs}`.execute(db);
}

export async function sweepStore(store: Store, nowMs: number, log: Logger): Promise<void> {
  const { waitMs, announced = [] } = await lookAtClock(store, nowMs, log);
  const isTimeKnown = waitMs === 0 || announced.length > 0;
  if (isTimeKnown) await rollUpHistory(store, nowMs);
  await keepHistoryPartitions(store, nowMs, isTimeKnown, log);
  if (waitMs > 0) return;
  const heavy: string[] = [];
  for (const rule of rules.filter(({ lasting = false }) => lasting))
    if (await losesMost(store.db, rule, nowMs)) heavy.push(rule.table);
  if (heavy.some((table) => !announced.includes(table))) {
    log.error({ tables: heavy }, 'more than half of the rows have expired: they are kept for 24 hours more. Check the clock');
    return announce(store.db, nowMs, heavy);
  }
  await deleteAllExpired(store, nowMs);
  if (announced.length > 0 && heavy.length === 0) await announce(store.db, nowMs, []);
}
