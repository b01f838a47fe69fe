// The access policy of one tunnel, compiled: what it says about a path, whom it admits, and the keys that vouch for visitors.

import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { McpCall } from '@underpass/rules/visit/call-rule.ts';
import { type MachineToken, refusalOf, type VisitorClaims } from '@underpass/rules/visit/grants.ts';
import type { Reach } from '@underpass/rules/visit/method-reach.ts';
import type { PathAction } from '@underpass/rules/visit/path-rule.ts';
import { compileRules } from '@underpass/rules/visit/rule-match.ts';
import type { FeedVisit } from '@underpass/wire/feed/feed.ts';

/** A visitor whom the policy admits, by a session or a machine token. Each running request refers to its visitor. */
export interface AdmittedVisitor {
  /** Null for a machine. */
  readonly claims: VisitorClaims | null;
  readonly token: MachineToken | null;
  readonly endsAtMs: number;
}

/** Why a request may run. */
export interface Pass {
  /** The requested path without its query; empty if it is too long to keep. */
  readonly path: string;
  readonly reach: Reach;
  /** Null: it names none, or no rule asked for it when it began. */
  readonly call: McpCall | null;
  /** Null: the path is public. */
  readonly visitor: AdmittedVisitor | null;
  /** The other origin whose page sent it with the visitor's session; null: none did. */
  readonly origin: string | null;
}

const visitKeyBytes = 32;

export class VisitPolicy {
  readonly feed: FeedVisit;
  /** Whether a rule is about calls of an MCP server. */
  readonly asksForCall: boolean;
  readonly actionOf: (target: string, reach: Reach, call: McpCall | null) => PathAction;
  /** The path of the rule that decides; empty: none does. */
  readonly ruleOf: (target: string, reach: Reach, call: McpCall | null) => string;
  /** Decides by the rules that are about every request. */
  readonly actionOfPath: (target: string, reach: Reach) => PathAction;
  readonly visitKey: Buffer;
  /** No later than the first end of a visitor whose requests run. */
  nextEndMs: number;
  readonly #tokens: ReadonlyMap<string, MachineToken>;
  #signingKey: KeyObject | null | undefined;

  constructor(feed: FeedVisit) {
    this.feed = feed;
    const { asksForCall, decide, decidePath } = compileRules(feed.callRules ?? feed.rules);
    this.asksForCall = asksForCall;
    this.actionOf = (target, reach, call) => decide(target, reach, call).action;
    this.ruleOf = (target, reach, call) => decide(target, reach, call).rule?.path ?? '';
    this.actionOfPath = (target, reach) => decidePath(target, reach).action;
    this.visitKey = Buffer.from(feed.sealKey, 'base64url');
    this.#tokens = new Map(feed.tokens.map((token) => [token.hash, token]));
    this.nextEndMs = this.#earliestEndMs;
  }

  get #earliestEndMs(): number {
    const ends = [...this.feed.tokens, ...this.feed.grants.links].map(
      ({ expiresAtMs }) => expiresAtMs ?? Number.POSITIVE_INFINITY,
    );
    const now = Date.now();
    return ends.reduce((first, end) => (end > now && end < first ? end : first), Number.POSITIVE_INFINITY);
  }

  /** False if the keys from control do not work: then the edge serves public paths alone. */
  get isUsable(): boolean {
    return this.visitKey.length === visitKeyBytes && this.signingKey !== null;
  }

  /** Null if the text is not a private key. Parsed on first use: at any time, most tunnels of an edge have no visitor. */
  get signingKey(): KeyObject | null {
    if (this.#signingKey === undefined) this.#signingKey = parseKey(this.feed.assertionKeyPem);
    return this.#signingKey;
  }

  admitToken(hash: string, nowMs: number): AdmittedVisitor | null {
    const token = this.#tokens.get(hash) ?? null;
    const endsAtMs = token?.expiresAtMs ?? Number.POSITIVE_INFINITY;
    return token !== null && endsAtMs > nowMs ? { claims: null, token, endsAtMs } : null;
  }

  admitClaims(claims: VisitorClaims, nowMs: number): AdmittedVisitor | null {
    if (refusalOf(claims, this.feed.grants, nowMs) !== null) return null;
    const link = claims.method === 'link' ? this.feed.grants.links.find(({ id }) => id === claims.source) : undefined;
    return { claims, token: null, endsAtMs: Math.min(claims.expiresAtMs, link?.expiresAtMs ?? Number.POSITIVE_INFINITY) };
  }

  /** Whether a running request may continue. `pass` is null if it began before the tunnel had a policy. */
  admits(pass: Pass | null, nowMs: number): boolean {
    if (pass === null) return false;
    const action = this.actionOf(pass.path, pass.reach, pass.call);
    if (action === 'sign-in' && !this.takesOrigin(pass.origin)) return false;
    return action === 'public' || (action === 'sign-in' && pass.visitor !== null && this.stillAdmits(pass.visitor, nowMs));
  }

  /** Whether a session may be used by a page of this origin; null: by its own. */
  takesOrigin(origin: string | null): boolean {
    return origin === null || this.feed.origins?.includes(origin) === true;
  }

  stillAdmits({ claims, token, endsAtMs }: AdmittedVisitor, nowMs: number): boolean {
    if (endsAtMs <= nowMs) return false;
    if (token !== null) return this.admitToken(token.hash, nowMs) !== null;
    return claims !== null && refusalOf(claims, this.feed.grants, nowMs) === null;
  }

  /** Call it with the end of each visitor whose requests run: the sweep looks at running requests only when one ends. */
  expectEnd(endsAtMs: number): void {
    if (endsAtMs < this.nextEndMs) this.nextEndMs = endsAtMs;
  }

  /** Call it before a sweep, which calls `expectEnd` again for every running request. */
  restartEnds(): void {
    this.nextEndMs = this.#earliestEndMs;
  }
}

function parseKey(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}
