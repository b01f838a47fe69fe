// Whether a visitor may ask for a host and a path, and the fields that tell the upstream who it is. What the host decides is
// remembered until the visitor asks for another host or the routes change: most visitors ask for one host.

import { randomBytes } from 'node:crypto';
import { hostOf } from '@underpass/wire/http/authority.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';
import { noLines, renderIdentity } from '../core/forwarded-head.ts';
import { answerOfError, type OwnAnswer } from '../core/own-answer.ts';
import { beginTrace, passedTraceId, traceBytes } from '../core/trace-context.ts';
import type { VisitorError } from '../core/visitor-error.ts';
import type { RouteTable } from '../routes/route-table.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { Pass } from '../routes/visit-policy.ts';
import type { Credential, VisitCheck, VisitSide } from './visit-check.ts';

export class Admission implements VisitSide {
  /** The host of the last authority, without a port. */
  host = '';
  /** Field lines for its requests. */
  identity: Buffer = noLines;
  site = '';
  credential: Credential | null = null;
  pass: Pass | null = null;
  rule = '';
  /** The id of the trace that the edge begins for the last request; empty: it begins none. */
  trace = '';
  #traceLine: Buffer = noLines;
  readonly #table: RouteTable;
  readonly #check: VisitCheck;
  readonly tunnel: TunnelState | null;
  readonly address: string;
  readonly version: '1.1' | '2.0';
  #authority = '';
  #tableVersion = -1;
  #refusal: VisitorError | null = null;

  /** `version` is the HTTP version that the visitor speaks. */
  constructor(
    { table, visits }: { readonly table: RouteTable; readonly visits: VisitCheck },
    tunnel: TunnelState | null,
    address: string,
    version: '1.1' | '2.0',
  ) {
    this.#table = table;
    this.#check = visits;
    this.tunnel = tunnel;
    this.address = address;
    this.version = version;
  }

  get tunnelId(): string {
    return this.tunnel?.feed.id ?? '';
  }

  /** Field lines about a visitor whom the access policy admits, and of a trace that the edge begins. */
  get visitor(): Buffer {
    const lines = this.credential?.lines ?? noLines;
    return this.#traceLine === noLines ? lines : Buffer.concat([lines, this.#traceLine]);
  }

  /** Null if the request goes to the upstream, else what to answer. Sets what the request is forwarded with. */
  decide(head: RequestHead, bytes: Buffer, end: number): OwnAnswer | null {
    // The pass of the connection's last request is no longer true: the logs name its visitor.
    this.pass = null;
    this.rule = '';
    this.trace = '';
    this.#traceLine = noLines;
    const own = this.#judge(head, bytes, end);
    if (own === null && this.tunnel?.feed.beginsTraces) this.#trace(head, bytes, end);
    return own;
  }

  /** Leaves a valid trace as it is. */
  #trace(head: RequestHead, bytes: Buffer, end: number): void {
    if (passedTraceId(head, bytes, end) !== '') return;
    const { id, line } = beginTrace(head, bytes, end, randomBytes(traceBytes));
    this.trace = id;
    this.#traceLine = line;
  }

  #judge(head: RequestHead, bytes: Buffer, end: number): OwnAnswer | null {
    const refusal = this.#refusalOf(head.authority) ?? (head.maxForwards === 0 ? 'UNDERPASS_MAX_FORWARDS' : null);
    if (refusal !== null) return answerOfError(refusal);
    const visit = this.tunnel?.visit;
    if (visit) return this.#check.judge(this, visit, head, bytes, end);
    this.credential = null;
    return null;
  }

  /** No further request follows on the connection. Small buffers share memory with others, and would keep it all. */
  endRequests(): void {
    this.credential = null;
    this.identity = noLines;
  }

  #refusalOf(authority: string): VisitorError | null {
    if (authority !== this.#authority) this.#setAuthority(authority);
    else if (this.#table.version === this.#tableVersion) return this.#refusal;
    this.#tableVersion = this.#table.version;
    this.#refusal = this.#table.refusal(this.host, this.tunnel, this.address);
    return this.#refusal;
  }

  #setAuthority(authority: string): void {
    this.#authority = authority;
    this.site = authority.replace(/:443$/, '');
    this.host = hostOf(authority);
    const identity = { address: this.address, proto: 'https', authority, version: this.version } as const;
    this.identity = Buffer.from(renderIdentity(identity), 'latin1');
  }
}
