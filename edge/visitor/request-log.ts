// Which requests of visitors are logged, and where they go once they have their answer. Without a log a request costs one look.

import { headFieldOf } from '@underpass/wire/http/head-field.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';
import { accessPath } from '../core/visit-cookie.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import { SeenRequest } from './seen-request.ts';

/** Who asks: a visitor's connection, or one request of it. */
export interface RequestSource {
  readonly tunnel: TunnelState | null;
  readonly address: string;
  readonly host: string;
  readonly version: string;
}

/** Takes a request that has its answer. It must not wait. */
export type TakeRequest = (seen: SeenRequest) => void;

export class RequestLog {
  readonly #access: TakeRequest | null;

  /** `access`: of all requests, for the operator; null: no log. */
  constructor(access: TakeRequest | null) {
    this.#access = access;
  }

  /** Null if nothing logs it. `end`: of the head. */
  begin(source: RequestSource, head: RequestHead, bytes: Buffer, end: number): SeenRequest | null {
    return this.#access === null ? null : this.#see(source, head, bytes, end);
  }

  /** A request without a readable head. */
  beginUnread({ tunnel, address, version }: Omit<RequestSource, 'host'>, host: string): SeenRequest | null {
    if (this.#access === null) return null;
    const texts = { tunnel, address, host, version, method: '', target: '', referer: '', agent: '' };
    return new SeenRequest(texts, this.#ended);
  }

  #see({ tunnel, address, host, version }: RequestSource, head: RequestHead, bytes: Buffer, end: number): SeenRequest {
    const texts = {
      tunnel,
      address,
      host,
      version: head.http10 ? '1.0' : version,
      method: bytes.toString('latin1', head.lineStart, head.methodEnd),
      target: withoutTicket(bytes.toString('latin1', head.targetStart, head.targetEnd) || '/'),
      referer: fieldText(head, bytes, end, 'referer'),
      agent: fieldText(head, bytes, end, 'user-agent'),
    };
    return new SeenRequest(texts, this.#ended);
  }

  readonly #ended = (seen: SeenRequest): void => {
    this.#access?.(seen);
  };
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
