// Who reaches a private tunnel: a member with a signed pass, or the holder of a ticket.

import { createHash } from 'node:crypto';
import type { FeedTunnel } from '@underpass/wire/feed.ts';
import { verifyVisit } from '@underpass/wire/signed-visit.ts';

export interface Reacher {
  readonly kind: 'member' | 'ticket';
  /** The user's id, or the ticket's. */
  readonly id: string;
  /** When control gave the pass; 0 for a ticket, which only its deletion and its end take back. */
  readonly givenAtMs: number;
}

type Reached = Pick<FeedTunnel, 'id' | 'type' | 'port' | 'reach'>;

/** Only a tcp tunnel without a public port is private. */
export const isPrivate = ({ type, port, reach }: Reached): boolean => type === 'tcp' && port === undefined && reach !== undefined;

/** Null for a secret that opens nothing now. */
export function findReacher(tunnel: Reached, secret: string, nowMs: number): Reacher | null {
  const { keys = [], tickets = [] } = tunnel.reach ?? {};
  const reacher = secret.includes('.') ? memberOf(tunnel.id, keys, secret, nowMs) : ticketOf(tickets, secret);
  return reacher !== null && mayReach(tunnel, reacher, nowMs) ? reacher : null;
}

function memberOf(tunnelId: string, keys: readonly string[], pass: string, nowMs: number): Reacher | null {
  for (const key of keys) {
    const visit = verifyVisit(Buffer.from(key), 'reach', tunnelId, pass, nowMs);
    if (visit !== null) return { kind: 'member', id: visit.claims.subject, givenAtMs: visit.claims.signedInAtMs };
  }
  return null;
}

function ticketOf(tickets: NonNullable<Reached['reach']>['tickets'], secret: string): Reacher | null {
  const given = createHash('sha256').update(secret).digest('hex');
  const ticket = tickets.find(({ hash }) => hash === given);
  return ticket === undefined ? null : { kind: 'ticket', id: ticket.id, givenAtMs: 0 };
}

/** Asked again whenever the tunnel changes, and by the clock: a ticket ends its open connections too. */
export function mayReach(tunnel: Reached, { kind, id, givenAtMs }: Reacher, nowMs: number): boolean {
  if (!isPrivate(tunnel)) return false;
  const { memberIds, signedOut = [], tickets } = tunnel.reach!;
  if (kind === 'member')
    return memberIds.includes(id) && !signedOut.some(({ subject, atMs }) => subject === id && givenAtMs <= atMs);
  return tickets.some((ticket) => ticket.id === id && (ticket.expiresAtMs === null || ticket.expiresAtMs > nowMs));
}
