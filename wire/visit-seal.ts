// Sealed texts with which control and edges vouch for a visitor: JSON and its HMAC, bound to one use and one host. A policy has
// one key for each region, which the region's edges hold beside the keys of certificates. docs/protocol.md 10, The feed.
// Each request of a visitor carries a session, so a session has no names: it is half as long.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SignInMethod, VisitorClaims } from '@underpass/rules/visit/grants.ts';

/**
 * `ticket`: control sends a visitor to an edge with it, once. `session`: the cookie at the host. `agent`: the access token of a
 * program. A text that is sealed for one use does not open for another.
 */
export type SealUse = 'ticket' | 'session' | 'agent';

export interface Sealed {
  readonly claims: VisitorClaims;
  /** When the text itself ends: seconds for a ticket, the session's end for the others. */
  readonly untilMs: number;
  /** SHA-256, base64url, of the nonce in the visitor's cookie, so no other browser can use the ticket. */
  readonly state?: string;
}

/** Browsers drop cookies of more than 4 kB; claims are bounded far below. */
export const sealedMostChars = 3_500;

const macOf = (key: Buffer, use: SealUse, host: string, body: string): Buffer =>
  createHmac('sha256', key).update(`${use}\0${host}\0${body}`).digest();

/** `host`: without a port, in lower case. */
export function sealVisit(key: Buffer, use: SealUse, host: string, sealed: Sealed): string {
  const body = Buffer.from(JSON.stringify(use === 'session' ? packSession(sealed) : sealed)).toString('base64url');
  return `${body}.${macOf(key, use, host, body).toString('base64url')}`;
}

/** Null if this policy did not seal the text for this use and host, or if it has ended. */
export function openVisit(key: Buffer, use: SealUse, host: string, text: string, nowMs: number): Sealed | null {
  if (text.length > sealedMostChars) return null;
  const dot = text.indexOf('.');
  if (dot < 1) return null;
  const body = text.slice(0, dot);
  const given = Buffer.from(text.slice(dot + 1), 'base64url');
  const right = macOf(key, use, host, body);
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
  const parsed = JSON.parse(Buffer.from(body, 'base64url').toString()) as Sealed | PackedSession;
  const sealed = isPacked(parsed) ? unpackSession(parsed) : parsed;
  return sealed.untilMs > nowMs ? sealed : null;
}

/** A session without names. Programs have tokens instead of sessions, so `agent` and `programId` have no place in it. */
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

function packSession({ claims, untilMs }: Sealed): PackedSession {
  const { method, subject, email, groups, source, signedInAtMs, expiresAtMs } = claims;
  return [method, subject, email === subject ? 0 : email, groups, source, signedInAtMs, expiresAtMs, untilMs];
}

function unpackSession([method, subject, email, groups, source, signedInAtMs, expiresAtMs, untilMs]: PackedSession): Sealed {
  const claims = { method, subject, email: email === 0 ? subject : email, groups, source, signedInAtMs, expiresAtMs };
  return { claims, untilMs };
}

/** A session that an edge of the previous version sealed has names. */
const isPacked = (parsed: Sealed | PackedSession): parsed is PackedSession => Array.isArray(parsed);
