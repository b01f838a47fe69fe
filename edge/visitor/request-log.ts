// Which requests of visitors are logged, and where they go once they have their answer. Without a log a request costs one look.

import { headFieldOf } from '@underpass/wire/http/head-field.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';
import { accessPath } from '../core/visit-cookie.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { Pass } from '../routes/visit-policy.ts';
import { SeenRequest } from './seen-request.ts';

/** Who asks: a visitor's connection, or one request of it. */
export interface RequestSource {
  readonly tunnel: TunnelState | null;
  readonly address: string;
  readonly host: string;
  readonly version: string;
  /** Why the request may run, if an access policy says so. */
  readonly pass?: Pass | null;
}

/** Takes a request that has its answer. It must not wait. */
export type TakeRequest = (seen: SeenRequest) => void;

export class RequestLog {
  readonly #access: TakeRequest | null;
  readonly #visitors: TakeRequest;

  /** `access`: takes all requests, for the operator; null: no log. `visitors`: takes those of tunnels whose visitor log is on. */
  constructor(access: TakeRequest | null, visitors: TakeRequest) {
    this.#access = access;
    this.#visitors = visitors;
  }

  #isWanted(tunnel: TunnelState | null): boolean {
    return this.#access !== null || tunnel?.feed.visitorLog !== undefined;
  }

  /** A connection of an ingress tunnel, of which the edge sees no request. */
  beginConnection({ tunnel, address }: Omit<RequestSource, 'host'>, host: string): SeenRequest | null {
    if (tunnel?.feed.visitorLog === undefined) return null;
    const texts = { tunnel, address, host, version: '', method: '', target: '', referer: '', agent: '', who: '' };
    return new SeenRequest(texts, this.#visitors, 0);
  }

  /** Null if nothing logs it. `end`: of the head. */
  begin(source: RequestSource, head: RequestHead, bytes: Buffer, end: number): SeenRequest | null {
    return this.#isWanted(source.tunnel) ? this.#see(source, head, bytes, end) : null;
  }

  /** A request without a readable head. */
  beginUnread({ tunnel, address, version }: Omit<RequestSource, 'host'>, host: string): SeenRequest | null {
    if (!this.#isWanted(tunnel)) return null;
    const texts = { tunnel, address, host, version, method: '', target: '', referer: '', agent: '', who: '' };
    return new SeenRequest(texts, this.#ended);
  }

  #see({ tunnel, address, host, version, pass }: RequestSource, head: RequestHead, bytes: Buffer, end: number): SeenRequest {
    const texts = {
      tunnel,
      address,
      host,
      version: head.http10 ? '1.0' : version,
      method: bytes.toString('latin1', head.lineStart, head.methodEnd),
      target: withoutTicket(bytes.toString('latin1', head.targetStart, head.targetEnd) || '/'),
      // The visitor log keeps neither.
      referer: this.#access === null ? '' : fieldText(head, bytes, end, 'referer'),
      agent: this.#access === null ? '' : fieldText(head, bytes, end, 'user-agent'),
      who: whoOf(pass),
    };
    return new SeenRequest(texts, this.#ended);
  }

  readonly #ended = (seen: SeenRequest): void => {
    this.#access?.(seen);
    this.#visitors(seen);
  };
}

function whoOf(pass: Pass | null | undefined): string {
  const { claims = null, token = null } = pass?.visitor ?? {};
  return token?.name ?? (claims?.email || claims?.method || '');
}

function fieldText(head: RequestHead, bytes: Buffer, end: number, name: string): string {
  const { count, start, end: stop } = headFieldOf(head, bytes, end, name);
  return count === 0 ? '' : bytes.toString('latin1', start, stop);
}

/** The query of the edge's own pages has the ticket of a sign-in. */
function withoutTicket(target: string): string {
  const query = target.startsWith(accessPath) ? target.indexOf('?') : -1;
  return query < 0 ? target : target.slice(0, query);
}
