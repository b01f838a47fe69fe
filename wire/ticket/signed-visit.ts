// Signed texts with which control and edges vouch for a visitor: JSON and its HMAC, bound to one use and one host. A policy has
// one key for each region, which the region's edges hold beside the keys of certificates. docs/protocol.md 10, The feed.
// Each request of a visitor carries a session, so a session has no names: it is half as long.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SignInMethod, VisitorClaims } from '@underpass/rules/visit/grants.ts';

/**
 * `ticket`: control sends a visitor to an edge with it, once. `session`: the cookie at the host. `agent`: the access token of a
 * program. `reach`: a member's pass to a private tunnel, whose id stands for the host. A text that is signed for one use counts for
 * no other.
 */
export type SignedUse = 'ticket' | 'session' | 'agent' | 'reach';

export interface SignedVisit {
  readonly claims: VisitorClaims;
  /** When the text itself ends: seconds for a ticket, the session's end for the others. */
  readonly untilMs: number;
  /** SHA-256, base64url, of the nonce in the visitor's cookie, so no other browser can use the ticket. */
  readonly state?: string;
}

/** Browsers drop cookies of more than 4 kB; claims are bounded far below. */
const signedMostChars = 3_500;

const macOf = (key: Buffer, use: SignedUse, host: string, body: string): Buffer =>
  createHmac('sha256', key).update(`${use}\0${host}\0${body}`).digest();

/** `host`: without a port, in lower case. */
export function signVisit(key: Buffer, use: SignedUse, host: string, visit: SignedVisit): string {
  const body = Buffer.from(JSON.stringify(use === 'session' ? packSession(visit) : visit)).toString('base64url');
  return `${body}.${macOf(key, use, host, body).toString('base64url')}`;
}

/** Null if this policy did not sign the text for this use and host, or if it has ended. */
export function verifyVisit(key: Buffer, use: SignedUse, host: string, text: string, nowMs: number): SignedVisit | null {
  if (text.length > signedMostChars) return null;
  const dot = text.indexOf('.');
  if (dot < 1) return null;
  const body = text.slice(0, dot);
  const given = Buffer.from(text.slice(dot + 1), 'base64url');
  const right = macOf(key, use, host, body);
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
  const parsed = JSON.parse(Buffer.from(body, 'base64url').toString()) as SignedVisit | PackedSession;
  const visit = isPacked(parsed) ? unpackSession(parsed) : parsed;
  return visit.untilMs > nowMs ? visit : null;
}

/** A session without names. Programs have tokens instead of sessions, so `agent` and `programId` are not in it. */
type PackedSession = readonly [
  method: SignInMethod,
  subject: string,
  /** 0: the subject is the address. */
  email: string | 0,
  groups: readonly string[],
  source: string,
  signedInAtMs: number,
  expiresAtMs: number,
  untilMs: number,
];

function packSession({ claims, untilMs }: SignedVisit): PackedSession {
  const { method, subject, email, groups, source, signedInAtMs, expiresAtMs } = claims;
  return [method, subject, email === subject ? 0 : email, groups, source, signedInAtMs, expiresAtMs, untilMs];
}

function unpackSession([method, subject, email, groups, source, signedInAtMs, expiresAtMs, untilMs]: PackedSession): SignedVisit {
  const claims = { method, subject, email: email === 0 ? subject : email, groups, source, signedInAtMs, expiresAtMs };
  return { claims, untilMs };
}

/** A session that an edge of the previous version signed has names. */
const isPacked = (parsed: SignedVisit | PackedSession): parsed is PackedSession => Array.isArray(parsed);
