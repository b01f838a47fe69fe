// Who reaches a private tunnel: a member with a signed pass, or the holder of a ticket.

import { createHash } from 'node:crypto';
import type { FeedReach, FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { verifyVisit } from '@underpass/wire/ticket/signed-visit.ts';

export interface Reacher {
  readonly kind: 'pass' | 'ticket';
  /** What the pass names, or the ticket's id. */
  readonly id: string;
}

type Reached = Pick<FeedTunnel, 'id' | 'type' | 'port' | 'reach'>;

/** Only a tcp tunnel without a public port is private. */
export const isPrivate = ({ type, port, reach }: Reached): boolean => type === 'tcp' && port === undefined && reach !== undefined;

/** Null for a secret that opens nothing now. */
export function findReacher(tunnel: Reached, secret: string, nowMs: number): Reacher | null {
  const { keys = [], tickets = [] } = tunnel.reach ?? {};
  const reacher = secret.includes('.') ? passOf(tunnel.id, keys, secret, nowMs) : ticketOf(tickets, secret);
  return reacher !== null && mayReach(tunnel, reacher, nowMs) ? reacher : null;
}

function passOf(tunnelId: string, keys: readonly string[], pass: string, nowMs: number): Reacher | null {
  for (const key of keys) {
    const visit = verifyVisit(Buffer.from(key), 'reach', tunnelId, pass, nowMs);
    if (visit !== null) return { kind: 'pass', id: visit.claims.subject };
  }
  return null;
}

function ticketOf(tickets: NonNullable<Reached['reach']>['tickets'], secret: string): Reacher | null {
  const given = createHash('sha256').update(secret).digest('hex');
  const ticket = tickets.find(({ hash }) => hash === given);
  return ticket === undefined ? null : { kind: 'ticket', id: ticket.id };
}

/** Asked again whenever the tunnel changes, and by the clock: what ends ends its open connections too. */
export function mayReach(tunnel: Reached, { kind, id }: Reacher, nowMs: number): boolean {
  if (!isPrivate(tunnel)) return false;
  const { passes, tickets } = tunnel.reach!;
  const all: FeedReach['passes'] = kind === 'pass' ? passes : tickets;
  return all.some((one) => one.id === id && (one.expiresAtMs === null || one.expiresAtMs > nowMs));
}
