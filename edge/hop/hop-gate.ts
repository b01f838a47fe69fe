// Where streams of other workers and edges come in: each is led on to a client of its tunnel, if there is one here.

import type { Duplex } from 'node:stream';
import type { Session, Stream } from '@underpass/wire/api.ts';
import type { ResetCode } from '@underpass/wire/core/code.ts';
import { maxOffers, type Offer } from '@underpass/wire/core/offer.ts';
import { createSession } from '@underpass/wire/session.ts';
import type { RouteTable } from '../routes/route-table.ts';
import type { Dialer } from '../upstream/dialer.ts';
import { type ByteCounts, Link, type LinkOwner } from '../upstream/link.ts';

export interface HopGateOptions {
  readonly table: RouteTable;
  /** Reaches clients of this process and, for streams of other edges, its siblings; never other edges. */
  readonly dialer: Dialer;
  /** What the places behind this gate have clients of, where the dialer leads on to them. */
  readonly beyond?: () => Iterable<Offer>;
  readonly software: string;
}

/** What came in on one session is told which tunnels have clients here; changes within this time go together: half of what is a flood. */
const coalesceMs = 100;
/** No list of offers reads like this. */
const untold = ' ';
/** A client whose proof has run out says nothing: looked at this often. */
const lookEveryMs = 2_000;

/** The visitor's edge counts. */
const uncounted: ByteCounts = { rxBytes: 0, txBytes: 0 };

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
  /** Each with what it was told last. */
  readonly #sessions = new Map<Session, string>();
  readonly #look: NodeJS.Timeout;
  #pause: NodeJS.Timeout | undefined;
  #draining = false;

  constructor(options: HopGateOptions) {
    this.#options = options;
    this.#look = setInterval(() => this.#tellNews(), lookEveryMs);
    this.#look.unref();
  }

  receive(carrier: Duplex): void {
    if (this.#draining) {
      carrier.destroy();
      return;
    }
    const session = createSession(carrier, { side: 'acceptor', peerMayOpen: true, info: { software: this.#options.software } });
    this.#sessions.set(session, untold);
    session.onStream = (stream) => void this.#lead(stream);
    session.onReady = () => this.#tellNews();
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

  /** Somebody came or went: told at once, for a visitor may be on his way already; what follows within a moment, together. */
  presenceChanged(): void {
    if (this.#pause !== undefined) return;
    this.#tellNews();
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#tellNews();
    }, coalesceMs);
  }

  #tellNews(): void {
    if (this.#sessions.size === 0) return;
    const offers = this.#offers();
    const words = offers.map(({ key, healthy }) => `${key} ${healthy}`).join();
    for (const [session, told] of this.#sessions) {
      if (told === words || session.version === 0) continue;
      this.#sessions.set(session, words);
      session.offer(offers);
    }
  }

  /** Tunnels with a client here or behind; healthy where one of them works. With more than an OFFER holds, all are worth trying. */
  #offers(): readonly Offer[] {
    const nowMs = performance.now();
    const healthy = new Map<string, boolean>();
    for (const tunnel of this.#options.table.tunnels.values()) {
      if (!tunnel.takesStreams) continue;
      healthy.set(
        tunnel.feed.id,
        tunnel.clients.some((client) => client.isWorking(nowMs)),
      );
    }
    for (const offer of this.#options.beyond?.() ?? []) healthy.set(offer.key, offer.healthy || healthy.get(offer.key) === true);
    if (healthy.size > maxOffers) return [{ key: '*', healthy: false }];
    return [...healthy].map(([key, isHealthy]) => ({ key, healthy: isHealthy }));
  }

  /** Takes nothing new; each session ends with its last stream. */
  drain(): void {
    this.#draining = true;
    for (const session of [...this.#sessions.keys()]) session.drain('the edge is draining');
  }

  close(): void {
    clearInterval(this.#look);
    clearTimeout(this.#pause);
    for (const session of [...this.#sessions.keys()]) session.close();
  }
}
