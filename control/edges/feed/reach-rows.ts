// Reads who reaches private tunnels: members of the project, and holders of tickets.

import { may } from '@underpass/rules/people/permission.ts';
import type { FeedReach, FeedTunnel } from '@underpass/wire/feed.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { gather } from '../../platform/store/gather.ts';
import type { Queries } from '../../platform/store/store.ts';

/** Keys that sign members' passes to the tunnel, the newest first. */
export const reachKeysOf = (keyRing: KeyRing, tunnelId: string): readonly string[] => keyRing.derive(`reach ${tunnelId}`);

interface PrivateTunnel {
  readonly id: string;
  readonly project_id: string;
}

/** A project that requires passkeys is closed to members who have none. */
async function readMembers(db: Queries, projectIds: readonly string[]) {
  const rows = await db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .innerJoin('projects as p', 'p.id', 'm.project_id')
    .select(['m.project_id', 'm.user_id', 'm.role', 'm.reach_ended_at'])
    .where('m.project_id', 'in', projectIds)
    .where('u.suspended_at', 'is', null)
    .where(({ eb, or, exists, selectFrom }) =>
      or([
        eb('p.passkey_required', '=', 0),
        exists(selectFrom('passkeys as k').select('k.id').whereRef('k.user_id', '=', 'm.user_id')),
      ]),
    )
    .orderBy('m.user_id')
    .execute();
  return gather(
    rows.filter(({ role }) => may(role, 'tunnel.reach')),
    (row) => row.project_id,
    (row) => ({ subject: row.user_id, atMs: row.reach_ended_at }),
  );
}

async function readTickets(db: Queries, ids: readonly string[], nowMs: number) {
  const query = db.selectFrom('reach_tickets').select(['tunnel_id', 'id', 'secret_hash', 'expires_at']);
  const live = query.where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', nowMs)]));
  return gather(
    await live.where('tunnel_id', 'in', ids).orderBy('id').execute(),
    (row) => row.tunnel_id,
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
  const members = await readMembers(db, [...new Set(tunnels.map((tunnel) => tunnel.project_id))]);
  const tickets = await readTickets(db, [...ids], nowMs);
  return ({ id, project_id }) => {
    if (!ids.has(id)) return {};
    const own = members.get(project_id) ?? [];
    const memberIds = own.map(({ subject }) => subject);
    const ended = own.flatMap(({ subject, atMs }) => (atMs === null ? [] : [{ subject, atMs }]));
    const signedOut = ended.length > 0 ? { signedOut: ended } : {};
    return { reach: { keys: reachKeysOf(keyRing, id), memberIds, ...signedOut, tickets: tickets.get(id) ?? [] } };
  };
}
