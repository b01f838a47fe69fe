// Whether a visitor may ask for a host, and the fields that tell the upstream who it is. Both are remembered until the
// visitor asks for another host or the routes change: most visitors ask for one host.

import { hostOf } from '@underpass/wire/http/authority.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';
import { renderIdentity } from '../core/forwarded-head.ts';
import type { VisitorError } from '../core/visitor-error.ts';
import type { RouteTable } from '../routes/route-table.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';

export class Admission {
  /** The host of the last authority, without a port. */
  host = '';
  /** Field lines for its requests. */
  identity: Buffer = Buffer.alloc(0);
  readonly #table: RouteTable;
  readonly #tunnel: TunnelState | null;
  readonly #address: string;
  readonly #version: '1.1' | '2.0';
  #authority = '';
  #tableVersion = -1;
  #refusal: VisitorError | null = null;

  /** `version` is the HTTP version that the visitor speaks. */
  constructor(table: RouteTable, tunnel: TunnelState | null, address: string, version: '1.1' | '2.0') {
    this.#table = table;
    this.#tunnel = tunnel;
    this.#address = address;
    this.#version = version;
  }

  /** Null if the request goes to the upstream, else the error to answer. Sets host and identity. */
  refusal(head: Pick<RequestHead, 'authority' | 'maxForwards'>): VisitorError | null {
    return this.#refusalOf(head.authority) ?? (head.maxForwards === 0 ? 'UNDERPASS_MAX_FORWARDS' : null);
  }

  #refusalOf(authority: string): VisitorError | null {
    if (authority !== this.#authority) this.#setAuthority(authority);
    else if (this.#table.version === this.#tableVersion) return this.#refusal;
    this.#tableVersion = this.#table.version;
    this.#refusal = this.#table.refusal(this.host, this.#tunnel, this.#address);
    return this.#refusal;
  }

  #setAuthority(authority: string): void {
    this.#authority = authority;
    this.host = hostOf(authority);
    const identity = { address: this.#address, proto: 'https', authority, version: this.#version } as const;
    this.identity = Buffer.from(renderIdentity(identity), 'latin1');
  }
}
