// Where streams of other workers and edges come in. It passes each on to a client of its tunnel.

import type { Duplex } from 'node:stream';
import type { Session, Stream } from '@underpass/wire/api.ts';
import { asksTimes, maxOffers, type Offer } from '@underpass/wire/core/offer.ts';
import { createSession } from '@underpass/wire/session/session.ts';
import type { RouteTable } from '../routes/route-table.ts';
import type { Dialer } from '../upstream/dialer.ts';
import { type ByteCounts, Link, type LinkFailure, type LinkOwner } from '../upstream/link.ts';

interface HopGateOptions {
  readonly table: RouteTable;
  /** Reaches clients of this process and, for streams of other edges, of its siblings; never other edges. */
  readonly dialer: Dialer;
  /** Tunnels with clients at the siblings to which the dialer leads. */
  readonly siblingOffers?: () => Iterable<Offer>;
  readonly software: string;
}

/**
 * A list names every tunnel with clients, so at most two are made in this time. wire/session/notices.ts keeps the rate that a peer
 * accepts.
 */
const coalesceMs = 100;
/** A value that no list of offers has. */
const nothingSent = ' ';
/** No event tells that a client is no longer proven, so look this often. */
const lookEveryMs = 2_000;

/** The visitor's own edge counts the bytes. */
const uncounted: ByteCounts = { rxBytes: 0, txBytes: 0 };

/** Joins an incoming stream to the link that carries it on, and reports failures of the link to the visitor's edge. */
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
    stream.onTimes = (times) => this.#link.tellTimes(times);
    stream.onReset = (code) => this.#link.reset(code === 'carrier-lost' ? 'cancelled' : code);
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

  onLinkFail(code: LinkFailure): void {
    this.#stream.reset(code === 'hop-silent' ? 'no-client' : code);
  }
}

export class HopGate {
  readonly #options: HopGateOptions;
  /** Each session with the offers that were last sent on it. */
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
    this.#sessions.set(session, nothingSent);
    session.onStream = (stream) => void this.#lead(stream);
    session.onReady = () => this.#tellNews();
    session.onClose = () => void this.#sessions.delete(session);
  }

  #lead(stream: Stream): void {
    const { request } = stream;
    const tunnel = this.#options.table.tunnels.get(request.tunnelId);
    // The visitor's edge has checked too, but the rules may have changed since.
    if (tunnel === undefined || tunnel.feed.suspended) stream.reset('no-client');
    else if (!tunnel.permits(request.visitorAddress)) stream.reset('denied');
    else new HopRelay(stream, (owner) => new Link(this.#options.dialer, tunnel, { ...request, tunnelId: '' }, owner, uncounted));
  }

  /** A client came or went. Sends the first change at once, because a visitor may be waiting for it; later ones together. */
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
    const text = offers.map(({ key, healthy, times }) => `${key} ${healthy} ${times}`).join();
    for (const [session, sent] of this.#sessions) {
      if (sent === text || session.version === 0) continue;
      this.#sessions.set(session, text);
      session.offer(offers);
    }
  }

  /**
   * Tunnels with a client here or at a sibling; healthy if one of the clients works, and asking for times if one inspects.
   * "*" if they are too many for one OFFER.
   */
  #offers(): readonly Offer[] {
    const nowMs = performance.now();
    const byKey = new Map<string, Offer>();
    const add = ({ key, healthy, times = false }: Offer): void => {
      const before = byKey.get(key);
      byKey.set(key, { key, healthy: healthy || before?.healthy === true, times: times || before?.times === true });
    };
    for (const { feed, clients, takesStreams } of this.#options.table.active) {
      if (!takesStreams) continue;
      const times = clients.some(({ session }) => asksTimes(session.peerOffers, null));
      add({ key: feed.id, healthy: clients.some((client) => client.isWorking(nowMs)), times });
    }
    for (const offer of this.#options.siblingOffers?.() ?? []) add(offer);
    return byKey.size > maxOffers ? [{ key: '*', healthy: false }] : [...byKey.values()];
  }

  /** Accepts nothing new. Each session ends with its last stream. */
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
