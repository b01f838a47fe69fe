// How tunnels stand now: what the edges report, completed by what the store remembers of their last clients.

import { ClientErrorCode, type LastClient } from '@underpass/rules/entity/resource.ts';
import { decideCondition, type TunnelCondition } from '@underpass/rules/tunnel/tunnel-condition.ts';
import type { FeedPort } from '../../edges/feed/port.ts';
import { isoTime } from '../../platform/store/iso-time.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';

type Remembered = ReadonlyMap<string, Schema['last_clients']>;

/** What the store remembers of these tunnels, or of all tunnels of a project. */
export async function readRemembered(db: Queries, of: readonly string[] | { readonly projectId: string }): Promise<Remembered> {
  if ('length' in of && of.length === 0) return new Map();
  const all = db.selectFrom('last_clients').selectAll();
  const query =
    'length' in of
      ? all.where('tunnel_id', 'in', of)
      : all.where('tunnel_id', 'in', (eb) => eb.selectFrom('tunnels').select('id').where('project_id', '=', of.projectId));
  return new Map((await query.execute()).map((row) => [row.tunnel_id, row]));
}

const later = <T extends { readonly at: string }>(live: T | null, kept: T | null): T | null =>
  live === null || (kept !== null && kept.at > live.at) ? kept : live;

/** The edges know what happened since this process started, the row what happened before. */
export function joinLastClient(live: LastClient, row: Schema['last_clients'] | undefined): LastClient {
  if (row === undefined) return live;
  const code = ClientErrorCode.options.find((known) => known === row.error_code);
  const error = code === undefined ? null : { at: isoTime(row.error_at), address: row.error_address, code };
  const left = row.left_at === null ? undefined : { at: isoTime(row.left_at), onPurpose: row.on_purpose === 1 };
  const seen = row.seen_at === 0 ? null : { at: isoTime(row.seen_at), address: row.address };
  // A client that the edges saw leaves them later than any that the row tells of.
  const leave = live.seen === null ? left : live.left;
  return { seen: later(live.seen, seen), error: later(live.error, error), ...(leave && { left: leave }) };
}

/** The row of a tunnel that existed before last clients were kept. */
const isBlank = (row: Schema['last_clients']): boolean => row.seen_at === 0 && row.error_code === '';

export interface Standing {
  readonly condition: TunnelCondition;
  /** When that began; undefined if it is not known. */
  readonly since: string | undefined;
  readonly last: LastClient;
  readonly clients: number;
  /** Clients with an upstream that does not answer. */
  readonly failing: number;
}

interface StandingFacts {
  readonly id: string;
  readonly status: string;
  readonly suspendedAt: number | null;
  readonly row: Schema['last_clients'] | undefined;
}

type StandingFeed = Pick<FeedPort, 'clients' | 'clientCount' | 'lastClient'>;

export function readStanding(feed: StandingFeed, { id, status, suspendedAt, row }: StandingFacts): Standing {
  // Most of many tunnels have no client: the count costs less.
  const clients = feed.clientCount(id) > 0 ? feed.clients(id) : [];
  const failing = clients.filter(({ healthy }) => !healthy).length;
  const last = joinLastClient(feed.lastClient(id), row);
  const isUnknown = last.seen === null && row !== undefined && isBlank(row);
  const lastClient = last.seen === null ? null : { onPurpose: last.left?.onPurpose ?? false };
  const condition = decideCondition({
    ...{ status, connectedClients: clients.length, failingClients: failing },
    ...{ lastClient: isUnknown ? undefined : lastClient, isSuspended: suspendedAt !== null },
  });
  const first = clients.reduce<string | undefined>(
    (min, { since }) => (min === undefined || since < min ? since : min),
    undefined,
  );
  const sinces: Partial<Record<TunnelCondition, string | undefined>> = {
    working: first,
    down: last.left?.at ?? last.seen?.at,
    stopped: last.left?.at,
    suspended: suspendedAt === null ? undefined : isoTime(suspendedAt),
  };
  return { condition, since: sinces[condition], last, clients: clients.length, failing };
}
