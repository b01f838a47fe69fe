// Checks each request to a tunnel with an access policy, without asking control: opens the visitor's session or token, removes it
// from the request, and names the visitor to the upstream. Also answers the paths of such a tunnel that belong to the edge.

import { createHash, randomBytes, sign, timingSafeEqual } from 'node:crypto';
import { type McpCall, readCall } from '@underpass/rules/visit/call-rule.ts';
import { type Reach, reachOf } from '@underpass/rules/visit/method-reach.ts';
import { headFieldOf } from '@underpass/wire/http/head-field.ts';
import { nextLine } from '@underpass/wire/http/head-scan.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';
import { type SignedVisit, signVisit, verifyVisit } from '@underpass/wire/ticket/signed-visit.ts';
import { noLines } from '../core/forwarded-head.ts';
import { answerOfError, type OwnAnswer } from '../core/own-answer.ts';
import {
  askSignOut,
  decideAnswerKind,
  foreignOrigin,
  isNavigation,
  isOwnForm,
  metadataPath,
  metadataPreflight,
  notKept,
  redirectToSignIn,
  redirectWithin,
  resourceMetadata,
  resourcePathOf,
  signedOut,
  signInPath,
  ticketRefused,
  unauthorized,
  type VisitFacts,
  wantsPage,
} from '../core/visit-answer.ts';
import {
  accessPath,
  type BegunVisit,
  chooseSlot,
  clearCookies,
  clearVisit,
  decodeReturnPath,
  likelyReturnPath,
  returnPathOf,
  setEntered,
  setSession,
  VisitCookies,
} from '../core/visit-cookie.ts';
import { assertionUsedMs, renderAssertion, renderVisitor } from '../core/visit-identity.ts';
import type { AdmittedVisitor, Pass, VisitPolicy } from '../routes/visit-policy.ts';
import type { EnteredVisits } from './entered-visits.ts';

type CredentialKind = 'session' | 'bearer' | 'token';

/** A session or token that was verified, and what the upstream gets for it. Shared by all connections that present it. */
export interface Credential {
  readonly policy: VisitPolicy;
  readonly site: string;
  readonly kind: CredentialKind;
  /** The text in the request that identifies it. */
  readonly bytes: Buffer;
  readonly visitor: AdmittedVisitor;
  /** Header lines for the upstream. After `signedUntilMs`, `renew` replaces their assertion. */
  lines: Buffer;
  signedUntilMs: number;
}

/** The connection of a visitor. */
export interface VisitSide {
  readonly tunnelId: string;
  readonly host: string;
  /** Host and port as in the address: without the port if it is 443. */
  readonly site: string;
  /** The credential of the connection's last request. */
  credential: Credential | null;
  /** Why the last judged request may run; null: it may not. */
  pass: Pass | null;
  /** The path rule that refused the last judged request; empty: none. */
  rule: string;
}

/**
 * How many verified credentials a process keeps for new connections, some 3 kB each. A connection remembers its own. Verifying one
 * again costs a new connection 0.1 ms, a tenth of its TLS handshake.
 */
const mostKnown = 512;
const keptPathChars = 4_096;
const slash = 47;
const dot = 46;
const nonceBytes = 16;

export class VisitCheck {
  readonly #hasControl: () => boolean;
  readonly #entered: EnteredVisits;
  readonly #known = new Map<string, Credential>();
  readonly #cookies = new VisitCookies();

  /** `hasControl`: whether control is likely to answer a visitor whom the edge redirects to it. */
  constructor(hasControl: () => boolean, entered: EnteredVisits) {
    this.#hasControl = hasControl;
    this.#entered = entered;
  }

  /** Null if the request may go on to the upstream; then `side` has its pass. Cuts our credentials out of the head. */
  judge(side: VisitSide, policy: VisitPolicy, head: RequestHead, bytes: Buffer, end: number): OwnAnswer | null {
    const request = new VisitRequest(side, policy, head, bytes, end);
    side.pass = null;
    this.#cookies.take(head, bytes);
    head.cutAsserted();
    return this.#ownPage(request) ?? this.#judgePath(request);
  }

  #judgePath(request: VisitRequest): OwnAnswer | null {
    const { side, policy, nowMs } = request;
    const call = policy.asksForCall ? request.call : null;
    const action = policy.actionOf(request.target, request.reach, call);
    if (action === 'deny') {
      side.rule = policy.ruleOf(request.target, request.reach, call);
      return answerOfError(call === null && request.isOpenPath ? 'UNDERPASS_CALL_UNKNOWN' : 'UNDERPASS_VISIT_DENIED');
    }
    if (!policy.isUsable) return action === 'public' ? passPublic(request, call) : answerOfError('UNDERPASS_SIGN_IN_UNAVAILABLE');
    const credential = this.#credentialOf(request);
    if (action === 'public') return passPublic(request, call);
    if (credential === null) return this.#turnAway(request);
    const origin = credential.kind === 'session' ? request.foreignOrigin : null;
    if (!policy.takesOrigin(origin)) return answerOfError('UNDERPASS_VISIT_OTHER_ORIGIN');
    renew(credential, nowMs);
    policy.expectEnd(credential.visitor.endsAtMs);
    side.credential = credential;
    side.pass = { path: request.keptPath, reach: request.reach, call, visitor: credential.visitor, origin };
    return null;
  }

  /** A token wins over a session: a program sends its token on purpose, a browser adds cookies by itself. */
  #credentialOf(request: VisitRequest): Credential | null {
    return this.#tokenOf(request) ?? this.#sessionOf(request);
  }

  #sessionOf(request: VisitRequest): Credential | null {
    const { sessions, sessionStart, sessionEnd } = this.#cookies;
    return sessions === 1 ? this.#resolve(request, 'session', sessionStart, sessionEnd, sessionStart) : null;
  }

  #tokenOf(request: VisitRequest): Credential | null {
    const { head, bytes, policy } = request;
    const { tokenHeader } = policy.feed;
    if (head.authorizationCount === 1) {
      const { authorizationLine: line, authorizationStart: start, authorizationEnd: stop } = head;
      const text = bearerStart(bytes, start, stop);
      const found = text < 0 ? null : this.#resolve(request, 'bearer', start, stop, text);
      if (found !== null) head.cut(line, nextLine(bytes, stop));
      if (found !== null) return found;
    }
    if (tokenHeader === 'authorization' || policy.feed.tokens.length === 0) return null;
    const field = headFieldOf(head, bytes, request.end, tokenHeader);
    if (field.count !== 1) return null;
    const found = this.#resolve(request, 'token', field.start, field.end, field.start);
    if (found !== null) head.cut(field.line, nextLine(bytes, field.end));
    return found;
  }

  /** The span from `start` identifies the credential; its text begins at `textStart`. */
  #resolve(request: VisitRequest, kind: CredentialKind, start: number, end: number, textStart: number): Credential | null {
    const { side, policy, bytes, nowMs } = request;
    const last = side.credential;
    if (last !== null && isCurrent(last, request) && last.kind === kind && isSame(last.bytes, bytes, start, end)) return last;
    const key = `${side.tunnelId} ${side.site} ${kind} ${bytes.toString('latin1', start, end)}`;
    const known = this.#known.get(key);
    if (known !== undefined) this.#known.delete(key);
    const visitor =
      known !== undefined && isCurrent(known, request)
        ? known.visitor
        : admitCredential(request, kind, bytes.toString('latin1', textStart, end));
    if (visitor === null || visitor.endsAtMs <= nowMs) return null;
    const credential =
      known?.visitor === visitor
        ? known
        : {
            policy,
            site: side.site,
            kind,
            bytes: ownCopy(bytes.subarray(start, end)),
            visitor,
            lines: noLines,
            signedUntilMs: 0,
          };
    this.#remember(key, credential);
    return credential;
  }

  #remember(key: string, credential: Credential): void {
    this.#known.set(key, credential);
    if (this.#known.size <= mostKnown) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }

  #turnAway(request: VisitRequest): OwnAnswer {
    const { facts } = request;
    const entered = this.#cookies.isEntered(request.bytes);
    switch (decideAnswerKind(facts, { entered, hasControl: this.#hasControl() })) {
      case 'redirect':
        return this.#beginVisit(request, returnPathOf(request.target));
      case 'not-kept':
        return notKept(returnPathOf(request.target));
      case 'unavailable':
        return answerOfError('UNDERPASS_SIGN_IN_UNAVAILABLE');
      case 'unauthorized':
        return request.unauthorized(request.head.authorizationCount > 0);
    }
  }

  #beginVisit({ side, policy }: VisitRequest, returnPath: string): OwnAnswer {
    const slot = chooseSlot(this.#cookies.takenSlots(), Math.random());
    const nonce = randomBytes(nonceBytes).toString('base64url');
    return redirectToSignIn(policy.feed.origin, side.site, stateOf(nonce).toString('base64url'), { slot, nonce, returnPath });
  }

  #ownPage(request: VisitRequest): OwnAnswer | null {
    const { target, path } = request;
    if (target.charCodeAt(1) !== dot || target.charCodeAt(0) !== slash) return null;
    if (path.startsWith(accessPath)) return this.#accessPage(request) ?? answerOfError('UNDERPASS_NO_SUCH_PAGE');
    if (path !== metadataPath && !path.startsWith(`${metadataPath}/`)) return null;
    const action = request.policy.actionOfPath(target, request.reach);
    if (action === 'public') return null;
    return action === 'deny' ? answerOfError('UNDERPASS_VISIT_DENIED') : metadataOf(request);
  }

  #accessPage(request: VisitRequest): OwnAnswer | null {
    const { path, method, side } = request;
    const reads = method === 'GET' || method === 'HEAD';
    if (path === signInPath && reads) return this.#signIn(request);
    if (path === `${accessPath}enter` && reads) return this.#enter(request);
    if (path !== `${accessPath}sign-out`) return null;
    if (reads) return askSignOut(side.host);
    if (method !== 'POST') return null;
    const isOwn = isOwnForm(request.field('origin'), request.field('sec-fetch-site'), side.site);
    return isOwn ? signedOut(side.host, clearCookies(this.#cookies.takenSlots())) : askSignOut(side.host);
  }

  #signIn(request: VisitRequest): OwnAnswer {
    if (!isNavigation(request.facts)) return request.unauthorized(false);
    if (!this.#hasControl() || !request.policy.isUsable) return answerOfError('UNDERPASS_SIGN_IN_UNAVAILABLE');
    const asked = request.query.get('return');
    const likely = likelyReturnPath(this.#cookies.begun(request.bytes));
    return this.#beginVisit(request, asked === null ? likely : decodeReturnPath(asked));
  }

  /** The visitor comes back from control with a ticket. */
  #enter(request: VisitRequest): OwnAnswer {
    const { policy, side, nowMs } = request;
    if (!policy.isUsable) return answerOfError('UNDERPASS_SIGN_IN_UNAVAILABLE');
    const begun = this.#cookies.begun(request.bytes);
    const tickets = request.query.getAll('ticket');
    const ticket = tickets.length === 1 ? verifyVisit(policy.visitKey, 'ticket', side.host, tickets[0] as string, nowMs) : null;
    const own = ticket === null ? undefined : begun.find(({ nonce }) => isStateOf(ticket, nonce));
    if (ticket === null || own === undefined) return this.#refuseTicket(request, begun);
    const { claims } = ticket;
    if (policy.admitClaims(claims, nowMs) === null) return answerOfError('UNDERPASS_VISIT_DENIED');
    if (!this.#entered.enter(side.host, own.nonce, ticket.untilMs)) return this.#refuseTicket(request, begun);
    const session = signVisit(policy.visitKey, 'session', side.host, { claims, untilMs: claims.expiresAtMs });
    const cookies = [setSession(session, (claims.expiresAtMs - nowMs) / 1_000), setEntered, clearVisit(own.slot)];
    return redirectWithin(own.returnPath, cookies);
  }

  #refuseTicket(request: VisitRequest, begun: readonly BegunVisit[]): OwnAnswer {
    // This window has used the ticket, or another window of the same browser has finished a sign-in.
    if (this.#sessionOf(request) !== null) return redirectWithin(likelyReturnPath(begun), []);
    return begun.length === 0 ? notKept('') : ticketRefused(likelyReturnPath(begun));
  }
}

/** The parts of a request that a policy looks at. Most are read only if the policy does not admit the request. */
class VisitRequest {
  readonly side: VisitSide;
  readonly policy: VisitPolicy;
  readonly head: RequestHead;
  readonly bytes: Buffer;
  readonly end: number;
  readonly nowMs: number = Date.now();
  /** The request target as the upstream gets it. */
  readonly target: string;
  /** The target without its query. */
  readonly path: string;

  constructor(side: VisitSide, policy: VisitPolicy, head: RequestHead, bytes: Buffer, end: number) {
    this.side = side;
    this.policy = policy;
    this.head = head;
    this.bytes = bytes;
    this.end = end;
    const pathless = head.method === 'OPTIONS' ? '*' : '/';
    this.target = bytes.toString('latin1', head.targetStart, head.targetEnd) || pathless;
    const query = this.target.indexOf('?');
    this.path = query < 0 ? this.target : this.target.slice(0, query);
  }

  /** Empty for a long target: a slice of a string keeps the whole string in memory. */
  get keptPath(): string {
    return this.target.length <= keptPathChars ? this.path : '';
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.target.slice(this.path.length));
  }

  /** Read for each request: a GET, as most are, needs no text for it. */
  get reach(): Reach {
    const { head, bytes } = this;
    if (head.overrideCount > 1) return 'service';
    if (head.overrideCount === 1) return reachOf(this.method, bytes.toString('latin1', head.overrideStart, head.overrideEnd));
    return head.method === 'other' ? reachOf(this.method, null) : 'path';
  }

  get method(): string {
    return this.bytes.toString('latin1', this.head.lineStart, this.head.methodEnd);
  }

  /** Null if the request does not name its MCP call plainly, and once. Only a POST makes a call. */
  get call(): McpCall | null {
    if (this.method !== 'POST') return null;
    return readCall(this.field('mcp-method'), this.field('mcp-name'));
  }

  /** Whether the rules that are about every request let it pass, so that it is denied only for a rule about calls. */
  get isOpenPath(): boolean {
    return this.policy.asksForCall && this.policy.actionOfPath(this.target, this.reach) !== 'deny';
  }

  /** Null if it is absent; empty if it is there more than once. */
  field(name: string): string | null {
    const { count, start, end } = headFieldOf(this.head, this.bytes, this.end, name);
    if (count === 0) return null;
    return count === 1 ? this.bytes.toString('latin1', start, end) : '';
  }

  get wantsUpgrade(): boolean {
    return this.head.upgrade || this.head.upgradeStart >= 0;
  }

  /** Null for a request that only reads: its answer stays hidden from the other page, which gets no permission by CORS from us. */
  get foreignOrigin(): string | null {
    if (this.head.method !== 'other' && !this.wantsUpgrade) return null;
    return foreignOrigin(this.field('origin'), this.field('sec-fetch-site'), this.side.site);
  }

  get facts(): VisitFacts {
    return {
      method: this.method,
      wantsUpgrade: this.wantsUpgrade,
      fetchMode: this.field('sec-fetch-mode'),
      fetchDest: this.field('sec-fetch-dest'),
      accept: this.field('accept'),
      requestedWith: this.field('x-requested-with'),
    };
  }

  unauthorized(badToken: boolean): OwnAnswer {
    const { site, host } = this.side;
    return unauthorized(site, host, resourcePathOf(this.path), badToken, wantsPage(this.field('accept')));
  }
}

/** A public path needs no sign-in, and its upstream learns nothing about the visitor. */
function passPublic({ side, keptPath, reach }: VisitRequest, call: McpCall | null): null {
  side.credential = null;
  side.pass = { path: keptPath, reach, call, visitor: null, origin: null };
  return null;
}

function metadataOf(request: VisitRequest): OwnAnswer {
  const { side, policy, path, method } = request;
  if (method === 'OPTIONS') return metadataPreflight;
  if (method !== 'GET' && method !== 'HEAD') return answerOfError('UNDERPASS_NO_SUCH_PAGE');
  const resource = path.slice(metadataPath.length);
  if (resource !== '' && resource !== '/' && resourcePathOf(resource) === '') return answerOfError('UNDERPASS_NO_SUCH_PAGE');
  return resourceMetadata(side.site, resourcePathOf(resource), side.host, policy.feed.origin);
}

const isCurrent = ({ policy, site, visitor }: Credential, request: VisitRequest): boolean =>
  policy === request.policy && site === request.side.site && visitor.endsAtMs > request.nowMs;

const isSame = (own: Buffer, bytes: Buffer, start: number, end: number): boolean =>
  own.length === end - start && bytes.compare(own, 0, own.length, start, end) === 0;

function admitCredential({ policy, side, nowMs }: VisitRequest, kind: CredentialKind, text: string): AdmittedVisitor | null {
  if (kind === 'session') return admitSigned(policy, verifyVisit(policy.visitKey, 'session', side.host, text, nowMs), nowMs);
  const takesToken = kind === 'token' || policy.feed.tokenHeader === 'authorization';
  const admitted = takesToken ? policy.admitToken(createHash('sha256').update(text).digest('hex'), nowMs) : null;
  if (admitted !== null || kind === 'token') return admitted;
  return admitSigned(policy, verifyVisit(policy.visitKey, 'agent', side.host, text, nowMs), nowMs);
}

function admitSigned(policy: VisitPolicy, visit: SignedVisit | null, nowMs: number): AdmittedVisitor | null {
  const visitor = visit === null ? null : policy.admitClaims(visit.claims, nowMs);
  return visitor === null || visit === null ? null : { ...visitor, endsAtMs: Math.min(visitor.endsAtMs, visit.untilMs) };
}

/** Where the token of a bearer scheme begins (RFC 6750 2.1), or -1. */
function bearerStart(bytes: Buffer, start: number, end: number): number {
  if (end - start < 8 || bytes.toString('latin1', start, start + 7).toLowerCase() !== 'bearer ') return -1;
  let at = start + 7;
  while (at < end && bytes[at] === 32) at++;
  return at;
}

/** Signs a new assertion if the last one is too old. A signature takes some 50 µs. */
function renew(credential: Credential, nowMs: number): void {
  if (nowMs < credential.signedUntilMs) return;
  const { policy, site, visitor } = credential;
  const { origin, assertionKeyId } = policy.feed;
  const facts = { issuer: origin, authority: site, keyId: assertionKeyId, nowMs, endsAtMs: visitor.endsAtMs };
  const text = renderAssertion(visitor, facts);
  const signature = sign('sha256', Buffer.from(text), { key: policy.signingKey!, dsaEncoding: 'ieee-p1363' });
  credential.lines = ownCopy(Buffer.from(renderVisitor(visitor, `${text}.${signature.toString('base64url')}`), 'latin1'));
  credential.signedUntilMs = nowMs + assertionUsedMs;
}

/** A copy outside Node's buffer pool: a slice of the pool keeps all of its 8 KiB in memory. */
function ownCopy(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

const stateOf = (nonce: string): Buffer => createHash('sha256').update(nonce).digest();

function isStateOf({ state }: SignedVisit, nonce: string): boolean {
  const given = Buffer.from(state ?? '', 'base64url');
  const right = stateOf(nonce);
  return given.length === right.length && timingSafeEqual(given, right);
}
