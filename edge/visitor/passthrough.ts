// A visitor of an ingress or tcp tunnel, private ones included: passes bytes untouched in both directions, with half-close and reset.

import type { Socket } from 'node:net';
import type { ResetCode } from '@underpass/wire/core/code.ts';
import type { StreamKind } from '@underpass/wire/core/open.ts';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { readShared } from '@underpass/wire/socket/shared-read.ts';
import { SocketWriter } from '@underpass/wire/socket/socket-writer.ts';
import type { Endpoints } from '../core/proxy-protocol.ts';
import { errorOfFailure } from '../core/visitor-error.ts';
import type { Deadline } from '../limits/deadlines.ts';
import type { Reacher } from '../routes/reacher.ts';
import type { TunnelState, Visitor } from '../routes/tunnel-state.ts';
import type { Link, LinkOwner } from '../upstream/link.ts';
import type { SeenRequest } from './seen-request.ts';
import type { VisitorContext } from './visitor-context.ts';

export interface Passed {
  readonly tunnel: TunnelState;
  readonly host: string;
  readonly kind: StreamKind;
  readonly ends: Endpoints;
  readonly reacher?: Reacher;
}

export class Passthrough implements LinkOwner, Visitor, Deadline {
  readonly address: string;
  readonly host: string;
  readonly reacher: Reacher | undefined;
  deadlineMs: number;
  readonly #context: VisitorContext;
  readonly #socket: Socket;
  readonly #tunnel: TunnelState;
  readonly #writer: SocketWriter;
  readonly #link: Link;
  readonly #onRefused: (code: ResetCode) => void;
  /** Null unless the visitor log of the tunnel is on. */
  readonly #seen: SeenRequest | null;
  #answered = false;
  #visitorEnded = false;
  #upstreamEnded = false;
  #over = false;

  /** `first` are the bytes read for routing, none at a public port. `onRefused` answers the visitor if no upstream was reached. */
  constructor(context: VisitorContext, socket: Socket, visit: Passed, first: Buffer, onRefused: (code: ResetCode) => void) {
    this.#context = context;
    this.#socket = socket;
    this.#tunnel = visit.tunnel;
    this.#onRefused = onRefused;
    this.address = visit.ends.sourceAddress;
    this.host = visit.host;
    this.reacher = visit.reacher;
    this.#writer = new SocketWriter(socket, (bytes) => this.#taken(bytes));
    this.deadlineMs = context.deadlines.nowMs + context.timeouts.responseMs;
    context.deadlines.watch(this);
    visit.tunnel.visitors.add(this);
    this.#seen = context.requestLog.beginConnection({ tunnel: visit.tunnel, address: this.address, version: '' }, visit.host);
    this.#link = context.upstreams.openLink(visit.tunnel, visit.kind, visit.host, visit.ends, this);
    this.#listen();
    if (first.length > 0 && !this.#link.write(first)) socket.pause();
  }

  #listen(): void {
    const socket = this.#socket;
    readShared(socket, (chunk) => {
      this.#touch();
      if (!this.#link.write(chunk)) socket.pause();
    });
    socket.on('end', () => {
      this.#visitorEnded = true;
      this.#link.end();
      this.#touch();
    });
    socket.on('error', () => this.#finish());
    socket.on('close', () => this.#closed());
    socket.resume();
  }

  onLinkOpened(): void {
    const { waitMs, roundTripMs } = this.#link;
    this.#seen?.arrived(0, { waitMs, roundTripMs });
    this.#touch();
  }

  onLinkData(chunk: Buffer): void {
    this.#answered = true;
    this.#seen?.count(chunk.length);
    this.#writer.write(chunk);
    this.#touch();
  }

  onLinkEnd(): void {
    this.#upstreamEnded = true;
    this.#writer.end();
    this.#touch();
  }

  /** Lets the bytes in transit reach the upstream if both sides ended properly; otherwise resets the link. */
  #closed(): void {
    if (this.#visitorEnded && this.#upstreamEnded && !this.#over) {
      this.#forget();
      this.#context.upstreams.finish(this.#link);
    } else this.#finish();
  }

  onLinkDrain(): void {
    this.#socket.resume();
  }

  onLinkFail(code: ResetCode): void {
    if (this.#over) return;
    if (!this.#reached) this.#seen?.answered(0, errorOfFailure(code));
    this.#finish();
    if (this.#reached) resetSocket(this.#socket);
    else this.#onRefused(code);
  }

  get #reached(): boolean {
    return this.#answered || this.#link.opened;
  }

  #taken(bytes: number): void {
    this.#link.consume(bytes);
    this.#touch();
  }

  /** Renews the deadline when bytes move. Before an upstream is reached, the visitor's bytes do not extend the wait for it. */
  #touch(): void {
    if (!this.#reached) return;
    const { stallMs, idleStreamMs, halfClosedMs } = this.#context.timeouts;
    const quietMs = this.#visitorEnded || this.#upstreamEnded ? halfClosedMs : idleStreamMs;
    this.deadlineMs = this.#context.deadlines.nowMs + (this.#writer.waitingBytes > 0 ? stallMs : quietMs);
  }

  onDeadline(): void {
    if (this.#reached) {
      this.#finish('idle');
      resetSocket(this.#socket);
    } else {
      this.#seen?.answered(0, 'UNDERPASS_UPSTREAM_TIMEOUT');
      this.#finish();
      this.#onRefused('upstream-timeout');
    }
  }

  /** Does nothing: the edge cannot know where this connection may end, so it keeps the time of the drain. */
  drain(): void {}

  /** Does nothing: everything on the connection belongs to the host that it was routed by. */
  endOtherHosts(): void {}

  /** Cuts at once: a passed-through tunnel cannot have an access policy, as the edge does not see the requests. */
  endUnadmitted(): void {
    this.cut();
  }

  cut(): void {
    this.#finish();
    resetSocket(this.#socket);
  }

  #finish(code?: ResetCode): void {
    if (this.#over) return;
    this.#forget();
    this.#link.reset(code);
  }

  #forget(): void {
    this.#over = true;
    this.#seen?.end();
    this.#context.deadlines.forget(this);
    this.#tunnel.visitors.delete(this);
  }
}
