// Which requests of visitors are logged, and where they go once they have their answer. Without a log a request costs one look.

import { type HeadField, headFieldsOf } from '@underpass/wire/http/head-field.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';
import { traceIdOfField } from '../core/trace-context.ts';
import { accessPath } from '../core/visit-cookie.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { Pass } from '../routes/visit-policy.ts';
import { SeenRequest } from './seen-request.ts';

/** Who asks: a visitor's connection, or one request of it. */
interface RequestSource {
  readonly tunnel: TunnelState | null;
  readonly address: string;
  readonly host: string;
  readonly version: string;
  /** Why the request may run, if an access policy says so. */
  readonly pass?: Pass | null;
  /** The path rule that refused it. */
  readonly rule?: string;
  /** The trace that the edge begins for it. */
  readonly trace?: string;
}

/** Takes a request that has its answer. It must not wait. */
export type TakeRequest = (seen: SeenRequest) => void;

/** The logs of tunnels that have one. */
export interface VisitorTaker {
  /** Whether the log of the tunnel takes one more request. It counts each that it does not take. */
  admit(tunnel: TunnelState): boolean;
  /** Takes an admitted request that has its answer. It must not wait. */
  take(seen: SeenRequest): void;
}

/** What a head would say, where none was read. */
const unreadTexts = { method: '', target: '', referer: '', agent: '', who: '', rule: '', trace: '' };

export class RequestLog {
  readonly #access: readonly TakeRequest[];
  readonly #visitors: VisitorTaker;

  /** `access`: take all requests, for the operator. `visitors`: takes those of tunnels whose visitor log is on. */
  constructor(access: readonly TakeRequest[], visitors: VisitorTaker) {
    this.#access = access;
    this.#visitors = visitors;
  }

  /** Asked before anything of the request is read: a visit beyond the pace of its log costs no more than this. */
  #isNoted(tunnel: TunnelState | null): boolean {
    return tunnel?.feed.visitorLog !== undefined && this.#visitors.admit(tunnel);
  }

  #takerOf(tunnel: TunnelState | null): TakeRequest | null {
    if (this.#isNoted(tunnel)) return this.#takeForAll;
    return this.#access.length > 0 ? this.#takeForAccess : null;
  }

  /** A connection of an ingress tunnel, of which the edge sees no request. */
  beginConnection({ tunnel, address }: Omit<RequestSource, 'host'>, host: string): SeenRequest | null {
    if (!this.#isNoted(tunnel)) return null;
    const texts = { ...unreadTexts, tunnel, address, host, version: '' };
    return new SeenRequest(texts, (seen) => this.#visitors.take(seen), 0);
  }

  /** Null if nothing logs it. `end`: of the head. */
  begin(source: RequestSource, head: RequestHead, bytes: Buffer, end: number): SeenRequest | null {
    const take = this.#takerOf(source.tunnel);
    return take === null ? null : this.#see(source, head, bytes, end, take);
  }

  /** A request without a readable head. */
  beginUnread({ tunnel, address, version }: Omit<RequestSource, 'host'>, host: string): SeenRequest | null {
    const take = this.#takerOf(tunnel);
    return take === null ? null : new SeenRequest({ ...unreadTexts, tunnel, address, host, version }, take);
  }

  #see(source: RequestSource, head: RequestHead, bytes: Buffer, end: number, take: TakeRequest): SeenRequest {
    const { tunnel, address, host, version, pass, rule = '', trace } = source;
    const [referer, agent, parent] = headFieldsOf(head, bytes, end, loggedFields);
    const texts = {
      tunnel,
      address,
      host,
      version: head.http10 ? '1.0' : version,
      method: bytes.toString('latin1', head.lineStart, head.methodEnd),
      target: withoutTicket(bytes.toString('latin1', head.targetStart, head.targetEnd) || '/'),
      // The visitor log keeps neither.
      referer: this.#access.length === 0 ? '' : fieldText(bytes, referer!),
      agent: this.#access.length === 0 ? '' : fieldText(bytes, agent!),
      who: whoOf(pass),
      rule,
      trace: trace || traceIdOfField(head, bytes, parent!),
    };
    return new SeenRequest(texts, take);
  }

  readonly #takeForAccess = (seen: SeenRequest): void => {
    for (const take of this.#access) take(seen);
  };

  readonly #takeForAll = (seen: SeenRequest): void => {
    this.#takeForAccess(seen);
    this.#visitors.take(seen);
  };
}

function whoOf(pass: Pass | null | undefined): string {
  const { claims = null, token = null } = pass?.visitor ?? {};
  return token?.name ?? (claims?.email || claims?.method || '');
}

const loggedFields = ['referer', 'user-agent', 'traceparent'];

function fieldText(bytes: Buffer, { count, start, end: stop }: HeadField): string {
  return count === 0 ? '' : bytes.toString('latin1', start, stop);
}

/** The query of the edge's own pages has the ticket of a sign-in. */
function withoutTicket(target: string): string {
  const query = target.startsWith(accessPath) ? target.indexOf('?') : -1;
  return query < 0 ? target : target.slice(0, query);
}
