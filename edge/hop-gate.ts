// Where streams of other workers and edges come in: each is led on to a client of its tunnel, if there is one here.

import type { Duplex } from 'node:stream';
import type { Session, Stream } from '@underpass/wire/api.ts';
import type { ResetCode } from '@underpass/wire/core/code.ts';
import { maxOffers } from '@underpass/wire/core/offer.ts';
import { createSession } from '@underpass/wire/session.ts';
import type { Dialer } from './dialer.ts';
import { Link, type LinkOwner, type Tally } from './link.ts';
import type { RouteTable } from './route-table.ts';

export interface HopGateOptions {
  readonly table: RouteTable;
  /** Reaches clients of this process and, for streams of other edges, its siblings; never other edges. */
  readonly dialer: Dialer;
  readonly software: string;
}

/** What came in on one session is told which tunnels have clients here; changes within this time go together. */
const coalesceMs = 50;

/** The visitor's edge counts. */
const uncounted: Tally = { rxBytes: 0, txBytes: 0 };

/** A stream that arrived and the link that leads it on; the visitor's edge is told what became of it. */
class HopRelay implements LinkOwner {
  readonly #stream: Stream;
  readonly #link: Link;
  #owedToStream = 0;
  #owedToLink = 0;

  constructor(stream: Stream, openLink: (owner: LinkOwner) => Link) {
    this.#stream = stream;
    this.#link = openLink(this);
    stream.onData = (chunk) => {
      if (this.#link.write(chunk)) stream.consume(chunk.length);
      else this.#owedToStream += chunk.length;
    };
    stream.onDrain = () => {
      this.#link.consume(this.#owedToLink);
      this.#owedToLink = 0;
    };
    stream.onEnd = () => this.#link.end();
    stream.onReset = () => this.#link.reset();
  }

  onLinkOpened(): void {
    this.#stream.accept();
  }

  onLinkData(chunk: Buffer): void {
    if (this.#stream.write(chunk)) this.#link.consume(chunk.length);
    else this.#owedToLink += chunk.length;
  }

  onLinkDrain(): void {
    this.#stream.consume(this.#owedToStream);
    this.#owedToStream = 0;
  }

  onLinkEnd(): void {
    this.#stream.end();
  }

  onLinkFail(code: ResetCode): void {
    this.#stream.reset(code === 'carrier-lost' ? 'cancelled' : code);
  }
}

export class HopGate {
  readonly #options: HopGateOptions;
  readonly #sessions = new Set<Session>();
  #soon: NodeJS.Timeout | undefined;

  constructor(options: HopGateOptions) {
    this.#options = options;
  }

  receive(carrier: Duplex): void {
    const session = createSession(carrier, { side: 'acceptor', peerMayOpen: true, info: { software: this.#options.software } });
    this.#sessions.add(session);
    session.onStream = (stream) => void this.#lead(stream);
    session.onReady = () => this.#tell();
    session.onClose = () => void this.#sessions.delete(session);
  }

  #lead(stream: Stream): void {
    const { request } = stream;
    const tunnel = this.#options.table.tunnels.get(request.tunnelId);
    // The first edge has checked as well; between the two a rule may have changed.
    if (tunnel === undefined || tunnel.feed.suspended) stream.reset('no-client');
    else if (!tunnel.permits(request.visitorAddress)) stream.reset('denied');
    else new HopRelay(stream, (owner) => new Link(this.#options.dialer, tunnel, { ...request, tunnelId: '' }, owner, uncounted));
  }

  /** Somebody came or went. */
  presenceChanged(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#tell();
    }, coalesceMs);
  }

  /** With more tunnels than an OFFER holds every stream is worth trying. */
  #tell(): void {
    const held = [...this.#options.table.tunnels.values()].filter(({ clients }) => clients.length > 0);
    const keys = held.length > maxOffers ? ['*'] : held.map(({ feed }) => feed.id);
    const offers = keys.map((key) => ({ key, healthy: true }));
    for (const session of this.#sessions) session.offer(offers);
  }

  close(): void {
    clearTimeout(this.#soon);
    for (const session of this.#sessions) session.close();
  }
}
