// The calls about reaching private tunnels: a member's pass, and tickets for somebody without a sign-in.

import type { NewReachTicket, ReachTicket } from '@underpass/rules/entity/resource.ts';
import { durations, limits } from '@underpass/rules/limits.ts';
import { parseApiTokenName } from '@underpass/rules/text/project-name.ts';
import { renderTicket } from '@underpass/wire/ticket/reach-ticket.ts';
import { signVisit } from '@underpass/wire/ticket/signed-visit.ts';
import type { FeedPort } from '../../edges/feed/port.ts';
import { reachKeysOf } from '../../edges/feed/reach-rows.ts';
import { tcpTunnelsOf } from '../../edges/policies/guarded-tunnels.ts';
import { createToken, hashToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import { isoOrNull, isoTime } from '../../platform/store/iso-time.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import { parseEnd } from '../../request/http/days.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { findTunnelRow, readTunnel, type TunnelReadDeps } from './tunnels.ts';

interface ReachDeps extends TunnelReadDeps {
  readonly store: Store;
  readonly feed: FeedPort;
}

type Context = Pick<CallContext<'listReachTickets'>, 'membership' | 'segments'>;

const findRow = async (db: Queries, { membership, segments }: Context): Promise<Schema['tunnels']> =>
  orMissing(await findTunnelRow(db, membership.id, segments.name), 'Tunnel');

const toTicket = (row: Schema['reach_tickets']): ReachTicket => ({
  ...{ id: row.id, name: row.name, createdBy: row.created_by, createdAt: isoTime(row.created_at) },
  ...{ expiresAt: isoOrNull(row.expires_at), usedAt: isoOrNull(row.used_at) },
});

const ticketRows = (db: Queries, tunnelId: string) =>
  db.selectFrom('reach_tickets').selectAll().where('tunnel_id', '=', tunnelId).orderBy('id');

/** Refuses a tunnel that is not private. Returns the text that reaches it with the secret. */
async function writeTicket(
  deps: ReachDeps,
  { membership, segments }: Context,
  secret: (row: Schema['tunnels']) => string | Promise<string>,
): Promise<string> {
  const row = await findRow(deps.store.db, { membership, segments });
  const { name, type, port, url } = orMissing(await readTunnel(deps, membership, segments.name, false), 'Tunnel');
  if (type !== 'tcp' || port !== undefined)
    refuse('invalid', `Tunnel '${name}' is not private: only a private tcp tunnel is reached.`);
  return renderTicket({ url, tunnelId: row.id, name: `${membership.name}/${name}`, secret: await secret(row) });
}

/**
 * What the passes of this sign-in or token name: made at the first, and told to the edges before it is used. With it go all of
 * them, and the connections that they opened.
 */
async function passId(
  { store, feed }: ReachDeps,
  { caller, nowMs }: CallContext<'reachTunnel'>,
  region: string,
): Promise<string> {
  const [table, id] =
    caller.token === null ? (['sessions', caller.sessionId!] as const) : (['api_tokens', caller.token.id] as const);
  const read = async () =>
    orMissing(await store.db.selectFrom(table).select('reach_id').where('id', '=', id).executeTakeFirst(), 'Sign-in').reach_id;
  const known = await read();
  if (known !== null) return known;
  const tunnels = await store.write(async (trx) => {
    const unset = trx
      .updateTable(table)
      .set({ reach_id: createId(nowMs) })
      .where('id', '=', id)
      .where('reach_id', 'is', null);
    await unset.execute();
    return tcpTunnelsOf(trx, caller.userId);
  });
  feed.tunnelsChanged(tunnels);
  await feed.delivered(region);
  return (await read()) ?? refuse('conflict', 'The sign-in has just ended. Try again.');
}

async function givePass(deps: ReachDeps, context: CallContext<'reachTunnel'>) {
  const { nowMs } = context;
  const untilMs = nowMs + durations.reachPassMinutes * 60_000;
  const ticket = await writeTicket(deps, context, async ({ id, region }) => {
    const who = { method: 'member', subject: await passId(deps, context, region), email: '', groups: [], source: '' } as const;
    const claims = { ...who, signedInAtMs: nowMs, expiresAtMs: untilMs };
    return signVisit(Buffer.from(reachKeysOf(deps.keyRing, id)[0]!), 'reach', id, { claims, untilMs });
  });
  return { ticket, until: isoTime(untilMs) };
}

/** Changes the tickets of a tunnel under the project's lock, then notifies the edges. */
async function change<T>(
  { store, feed }: ReachDeps,
  context: Context,
  work: (trx: Queries, tunnel: Schema['tunnels']) => Promise<T>,
): Promise<T> {
  const { id, result } = await store.write(async (trx) => {
    await lockProject(trx, context.membership.id);
    const tunnel = await findRow(trx, context);
    return { id: tunnel.id, result: await work(trx, tunnel) };
  });
  feed.tunnelsChanged([id]);
  return result;
}

async function addTicket(deps: ReachDeps, context: CallContext<'createReachTicket'>): Promise<NewReachTicket> {
  const { caller, body, nowMs } = context;
  const name = orInvalid(parseApiTokenName(body.name));
  const expiresAt = parseEnd('ticket', body.expiresInDays, nowMs);
  const secret = createToken();
  const ticket = await writeTicket(deps, context, () => secret);
  return change(deps, context, async (trx, tunnel) => {
    const most = limits.reachTicketsPerTunnel;
    if ((await ticketRows(trx, tunnel.id).execute()).length >= most)
      refuse('conflict', `A tunnel may have at most ${most} tickets. Delete some.`);
    const row = {
      ...{ id: createId(nowMs), tunnel_id: tunnel.id, name, secret_hash: hashToken(secret), created_by: caller.email },
      ...{ created_at: nowMs, expires_at: expiresAt, used_at: null },
    };
    await trx.insertInto('reach_tickets').values(row).execute();
    await auditCall(trx, context, 'tunnel.create-ticket', tunnel.name, { ticket: name, expiresAt: isoOrNull(expiresAt) });
    return { ...toTicket(row), ticket };
  });
}

const removeTicket = (deps: ReachDeps, context: CallContext<'deleteReachTicket'>): Promise<void> =>
  change(deps, context, async (trx, tunnel) => {
    const own = trx.deleteFrom('reach_tickets').where('tunnel_id', '=', tunnel.id);
    const row = await own.where('id', '=', context.segments.id).returning('name').executeTakeFirst();
    await auditCall(trx, context, 'tunnel.delete-ticket', tunnel.name, { ticket: orMissing(row, 'Ticket').name });
  });

async function listTickets({ store }: ReachDeps, context: Context): Promise<readonly ReachTicket[]> {
  const { id } = await findRow(store.db, context);
  return (await ticketRows(store.db, id).execute()).map(toTicket);
}

export const reachHandlers = {
  reachTunnel: givePass,
  listReachTickets: listTickets,
  createReachTicket: addTicket,
  deleteReachTicket: removeTicket,
} satisfies AreaHandlers<ReachDeps>;
