// Reads who reaches private tunnels: members of the project, and holders of tickets.

import { may } from '@underpass/rules/people/permission.ts';
import { isLive } from '@underpass/rules/people/session-life.ts';
import type { FeedReach, FeedTunnel } from '@underpass/wire/feed/feed.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { gather } from '../../platform/store/gather.ts';
import type { Queries } from '../../platform/store/store.ts';

/** Keys that sign members' passes to the tunnel, the newest first. */
export const reachKeysOf = (keyRing: KeyRing, tunnelId: string): readonly string[] => keyRing.derive(`reach ${tunnelId}`);

interface PrivateTunnel {
  readonly id: string;
  readonly project_id: string;
}

/** Members who may reach, as `PROJECT USER`. A project that requires passkeys is closed to members who have none. */
async function readMembers(db: Queries, projectIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .innerJoin('projects as p', 'p.id', 'm.project_id')
    .select(['m.project_id', 'm.user_id', 'm.role'])
    .where('m.project_id', 'in', projectIds)
    .where('u.suspended_at', 'is', null)
    .where(({ eb, or, exists, selectFrom }) =>
      or([
        eb('p.passkey_required', '=', 0),
        exists(selectFrom('passkeys as k').select('k.id').whereRef('k.user_id', '=', 'm.user_id')),
      ]),
    )
    .execute();
  return new Set(rows.filter(({ role }) => may(role, 'tunnel.reach')).map((row) => `${row.project_id} ${row.user_id}`));
}

/**
 * The passes of sign-ins and tokens that still live, by project. Each use of a session, or of a terminal's token, moves its end, so
 * control alone watches that: edges hear of it when control next reads everything.
 */
async function readPasses(db: Queries, projectIds: readonly string[], nowMs: number) {
  const members = await readMembers(db, projectIds);
  const tokens = await db
    .selectFrom('api_tokens')
    .select(['project_id', 'user_id', 'reach_id', 'cli', 'expires_at'])
    .where('reach_id', 'is not', null)
    .where('project_id', 'in', projectIds)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', nowMs)]))
    .execute();
  const sessions = await db
    .selectFrom('sessions as s')
    .innerJoin('members as m', 'm.user_id', 's.user_id')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select(['m.project_id', 's.user_id', 's.reach_id', 's.created_at', 's.seen_at', 's.expires_at', 'u.operator'])
    .where('s.reach_id', 'is not', null)
    .where('m.project_id', 'in', projectIds)
    .execute();
  const live = sessions.filter((session) => isLive(session, session.operator === 1, nowMs));
  const all = [...tokens, ...live.map((session) => ({ ...session, cli: 0 }))];
  return gather(
    all.filter((row) => members.has(`${row.project_id} ${row.user_id}`)).sort((a, b) => (a.reach_id! < b.reach_id! ? -1 : 1)),
    'project_id',
    ({ reach_id, cli, expires_at }) => ({ id: reach_id!, expiresAtMs: cli === 1 ? null : expires_at }),
  );
}

async function readTickets(db: Queries, ids: readonly string[], nowMs: number) {
  const query = db.selectFrom('reach_tickets').select(['tunnel_id', 'id', 'secret_hash', 'expires_at']);
  const live = query.where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', nowMs)]));
  return gather(
    await live.where('tunnel_id', 'in', ids).orderBy('id').execute(),
    'tunnel_id',
    ({ id, secret_hash, expires_at }): FeedReach['tickets'][number] => ({ id, hash: secret_hash, expiresAtMs: expires_at }),
  );
}

/** Returns what the feed says of a tunnel: nothing unless it is one of `tunnels`. */
export async function readReach(
  db: Queries,
  keyRing: KeyRing,
  tunnels: readonly PrivateTunnel[],
  nowMs: number,
): Promise<(tunnel: PrivateTunnel) => Pick<FeedTunnel, 'reach'>> {
  if (tunnels.length === 0) return () => ({});
  const ids = new Set(tunnels.map(({ id }) => id));
  const passes = await readPasses(db, [...new Set(tunnels.map((tunnel) => tunnel.project_id))], nowMs);
  const tickets = await readTickets(db, [...ids], nowMs);
  return ({ id, project_id }) =>
    ids.has(id)
      ? { reach: { keys: reachKeysOf(keyRing, id), passes: passes.get(project_id) ?? [], tickets: tickets.get(id) ?? [] } }
      : {};
}
