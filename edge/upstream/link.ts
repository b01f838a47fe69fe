// A visitor's way to an upstream: one stream on the best client, and on the next client if the first reaches no upstream.
// Counts the bytes that the tunnel carries.

import type { Session, Stream } from '@underpass/wire/api.ts';
import { ByteQueue } from '@underpass/wire/core/byte-queue.ts';
import type { ResetCode } from '@underpass/wire/core/code.ts';
import { asksTimes } from '@underpass/wire/core/offer.ts';
import type { OpenRequest } from '@underpass/wire/core/open.ts';
import type { Times } from '@underpass/wire/core/times.ts';
import { isRepeatable } from '../core/repeatable.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { Dialer, DialTarget } from './dialer.ts';

/** `hop-silent`: the edge in between does not answer, and no other way is known. */
export type LinkFailure = ResetCode | 'hop-silent';

export interface LinkOwner {
  onLinkOpened(): void;
  /** The chunk is valid until this returns. Every byte must be given back through consume(). */
  onLinkData(chunk: Buffer): void;
  onLinkEnd(): void;
  onLinkDrain(): void;
  /**
   * The client is silent, and another one works. The link has passed on what it had, so its owner may ask on a new one. `isLost`:
   * the way to the client stays silent, and no other one is known.
   */
  onLinkQuiet?(isLost: boolean): void;
  /** The link failed. Called once; nothing follows. */
  onLinkFail(code: LinkFailure): void;
}

/** Kept for another try until an upstream is connected: one read of a socket and a head. */
const replayBytes = 96 * 1024;
/** Carriers of this process to try for one stream. Each neighbour is tried once besides, until they are used up. */
const maxTries = 4;
/**
 * A hop is silent for a second when the link hears of it. It then has this long to answer, or another way to appear: two seconds
 * in all. A client may be on a slow network and is not given up before its carrier.
 */
const hopPatienceMs = 800;
const clientPatienceMs = 20_000;

/** Reset codes that tell of a client's upstream, which all its carriers lead to. */
const ofUpstream: ReadonlySet<ResetCode> = new Set<ResetCode>([
  'no-upstream',
  'upstream-refused',
  'upstream-timeout',
  'upstream-unresolved',
  'upstream-tls',
  'upstream-unreachable',
]);
/** Reset codes after which no byte of the visitor can have reached an upstream. */
const unreached: ReadonlySet<ResetCode> = new Set<ResetCode>([...ofUpstream, 'refused', 'busy', 'no-client']);

/** Where bytes are counted: on the tunnel at the visitor's edge, nowhere on a hop. */
export interface ByteCounts {
  rxBytes: number;
  txBytes: number;
}

/** Only an edge may say that a visitor is not allowed. From a client it means no more than a broken upstream. */
const codeOfClient = (code: ResetCode): ResetCode => (code === 'denied' ? 'upstream-reset' : code);

export class Link {
  readonly tunnel: TunnelState;
  readonly request: OpenRequest;
  /** The upstream is connected. */
  opened = false;
  /** Nothing more is sent or received. */
  over = false;
  /** The upstream has ended its direction. */
  remoteEnded = false;
  readonly startMs: number = performance.now();
  /** The client inspects, here or behind the hop. */
  asksTimes = false;
  /** Time from the start until there was a client; 0 once it was sent to the client. */
  #waitedMs = 0;
  /** The same, kept for the tunnel's figures and its visitor log. */
  waitMs = 0;
  /** Both directions of the stream have ended. */
  onClosed: () => void = () => {};
  #owner: LinkOwner;
  readonly #dialer: Dialer;
  readonly #counts: ByteCounts;
  #tries = 0;
  readonly #tried = new Set<Session>();
  #session: Session | null = null;
  #stream: Stream | null = null;
  /** Bytes written before an upstream is connected; null once they are too many or no longer needed. */
  #replay: ByteQueue | null = new ByteQueue();
  #ended = false;
  /** write() returned false, so the owner waits for onLinkDrain. */
  #owesDrain = false;
  /** The first failure, which is reported if every other client fails too. */
  #firstFailure: ResetCode | null = null;
  /** The upstream of one client timed out, here or at the edge that this stream comes from. */
  #timedOut: boolean;
  /** The stream whose way is silent, while the link waits for another one. */
  #doubted: Stream | null = null;
  /** The client left behind, so that another edge that has it too does not try it again. */
  #leftClientId: string;

  constructor(dialer: Dialer, tunnel: TunnelState, request: OpenRequest, owner: LinkOwner, counts: ByteCounts = tunnel) {
    this.#dialer = dialer;
    this.#counts = counts;
    this.tunnel = tunnel;
    this.request = request;
    this.#timedOut = request.clientId !== '';
    this.#leftClientId = request.clientId;
    this.#owner = owner;
    this.#try();
  }

  set owner(owner: LinkOwner) {
    this.#owner = owner;
  }

  #try(): void {
    const target = this.#tries < maxTries ? this.#dialer.next(this.tunnel, this.request, this.#tried) : null;
    if (!(target instanceof Promise)) {
      this.#take(target);
      return;
    }
    target.then(
      (found) => this.#take(found),
      () => this.#fail('no-client'),
    );
  }

  #take(target: DialTarget | null): void {
    if (this.over) return;
    // In a later microtask, so that a constructor never calls its owner.
    if (target === null) return void queueMicrotask(() => this.#fail(this.#unserved));
    this.#tried.add(target.session);
    if (!target.hop) this.#tries++;
    if (target.session.canOpen) this.#open(target);
    else this.#try();
  }

  /** 'busy' if a client here takes streams but none now: it is full, or its carrier is stuck. */
  get #unserved(): ResetCode {
    if (this.#firstFailure !== null && this.#firstFailure !== 'no-client') return this.#firstFailure;
    return this.tunnel.takesStreams ? 'busy' : 'no-client';
  }

  #open(target: DialTarget): void {
    const { session, hop } = target;
    const stream = session.open(this.#requestTo(hop));
    this.#session = session;
    this.#stream = stream;
    this.asksTimes = asksTimes(session.peerOffers, hop ? this.tunnel.feed.id : null);
    this.waitMs = performance.now() - this.startMs;
    if (this.asksTimes) this.#waitedMs = this.waitMs;
    stream.onOpened = () => this.#accepted();
    stream.onData = (chunk) => this.#receive(chunk);
    stream.onEnd = () => this.#remoteEnd();
    stream.onDrain = () => this.#drained();
    stream.onReset = (code) => this.#reset(hop ? code : codeOfClient(code), session);
    stream.onQuiet = () => void this.#doubt(stream, target);
    stream.onClose = () => this.onClosed();
    let room = true;
    for (const part of this.#replay?.parts ?? []) room = stream.write(part);
    if (this.#ended) stream.end();
    if (room && this.#owesDrain) this.#drained();
    if (session.isQuiet) void this.#doubt(stream, target);
  }

  #requestTo(hop: boolean): OpenRequest {
    const { request } = this;
    if (hop) return { ...request, tunnelId: this.tunnel.feed.id, clientId: this.#leftClientId };
    return request.clientId === '' ? request : { ...request, clientId: '' };
  }

  #drained(): void {
    this.#owesDrain = false;
    this.#owner.onLinkDrain();
  }

  #accepted(): void {
    this.opened = true;
    this.#replay = null;
    this.#owner.onLinkOpened();
  }

  #receive(chunk: Buffer): void {
    this.#replay = null;
    this.#counts.txBytes += chunk.length;
    this.#owner.onLinkData(chunk);
  }

  #remoteEnd(): void {
    this.remoteEnded = true;
    this.#owner.onLinkEnd();
  }

  #reset(code: ResetCode, session: Session): void {
    if (this.over) return;
    this.#stream = null;
    if (!this.#mayTryOn(code)) {
      this.#fail(code);
      return;
    }
    if (ofUpstream.has(code)) this.#leaveClientOf(session, code);
    // A client's failure says more than a hop's 'no-client'.
    if (this.#firstFailure === null || this.#firstFailure === 'no-client') this.#firstFailure = code;
    this.#try();
  }

  /** The client or the edge in between may be stopped or cut off. Asks a working client as soon as there is one. */
  async #doubt(stream: Stream, { session, hop }: DialTarget): Promise<void> {
    if (this.#doubted === stream || this.#leaves(stream)) return;
    this.#doubted = stream;
    const endsAtMs = performance.now() + (hop ? hopPatienceMs : clientPatienceMs);
    const leftMs = (): number => Math.ceil(endsAtMs - performance.now());
    for (let ms = leftMs(); ms > 0 && this.#doubted === stream; ms = leftMs()) {
      await this.#dialer.changed(this.tunnel, ms);
      if (this.#leaves(stream)) return;
    }
    if (hop && session.isQuiet && this.#mayLeave(stream)) this.#giveUp(stream);
    if (this.#doubted === stream) this.#doubted = null;
  }

  /** True if it does no harm that another client gets the request too. */
  #mayLeave(stream: Stream): boolean {
    if (this.over || this.#stream !== stream || stream.closed) return false;
    return this.#replay === null || isRepeatable(this.request, this.#replay.parts);
  }

  #leaves(stream: Stream): boolean {
    if (this.#tries >= maxTries || !this.#mayLeave(stream)) return false;
    const target = this.#dialer.working(this.tunnel, this.request, this.#tried);
    if (target === null) return false;
    if (this.#replay === null) {
      this.#owner.onLinkQuiet?.(false);
      return true;
    }
    this.#abandon(stream);
    this.#take(target);
    return true;
  }

  #giveUp(stream: Stream): void {
    if (this.#replay === null) {
      this.#owner.onLinkQuiet?.(true);
      return;
    }
    this.#abandon(stream);
    this.#fail('hop-silent');
  }

  #abandon(stream: Stream): void {
    stream.onClose = () => {};
    stream.reset('cancelled');
    this.#stream = null;
  }

  #mayTryOn(code: ResetCode): boolean {
    const replay = this.#replay;
    if (replay === null) return false;
    // Each timeout takes ten seconds. After two of them a proxy in front of the visitor is about to give up.
    if (code === 'upstream-timeout') return !this.#timedOut;
    if (code === 'carrier-lost') return replay.bytes === 0 || isRepeatable(this.request, replay.parts);
    return unreached.has(code);
  }

  /** Skips all carriers of this client: they lead to the same upstream. */
  #leaveClientOf(session: Session, code: ResetCode): void {
    const { clients } = this.tunnel;
    const clientId = clients.find((client) => client.session === session)?.clientId;
    for (const client of clients) if (client.clientId === clientId) this.#tried.add(client.session);
    if (code !== 'upstream-timeout') return;
    this.#timedOut = true;
    this.#leftClientId = clientId ?? '';
  }

  #fail(code: LinkFailure): void {
    if (this.over) return;
    this.over = true;
    this.#replay = null;
    this.#owner.onLinkFail(code);
  }

  /** False asks the owner to wait for onLinkDrain. */
  write(chunk: Uint8Array): boolean {
    if (this.over) return true;
    this.#counts.rxBytes += chunk.length;
    this.#keep(chunk);
    const room = this.#stream === null ? (this.#replay?.bytes ?? 0) < replayBytes : this.#stream.write(chunk);
    if (!room) this.#owesDrain = true;
    return room;
  }

  #keep(chunk: Uint8Array): void {
    const replay = this.#replay;
    if (replay === null) return;
    if (replay.bytes + chunk.length <= replayBytes || this.#stream === null) replay.push(chunk);
    else this.#replay = null;
  }

  /** Tells the client how long a request took; it measures the rest itself. */
  tellTimes({ edgeMs, totalMs }: Times): void {
    if (!this.asksTimes) return;
    this.#stream?.tellTimes({ edgeMs: edgeMs + this.#waitedMs, totalMs });
    this.#waitedMs = 0;
  }

  /** Time of the last PING on the way to the client; null before the first. */
  get roundTripMs(): number | null {
    return this.#session?.rttMs ?? null;
  }

  /** True while the client is silent. */
  get isQuiet(): boolean {
    return this.#session?.isQuiet === true;
  }

  get closed(): boolean {
    return this.over || this.#stream?.closed === true;
  }

  /** Bytes sent towards the upstream. */
  get sentBytes(): number {
    return this.#stream?.sentBytes ?? 0;
  }

  end(): void {
    this.#ended = true;
    this.#stream?.end();
  }

  consume(bytes: number): void {
    this.#stream?.consume(bytes);
  }

  reset(code: ResetCode = 'cancelled'): void {
    if (this.over) return;
    this.over = true;
    this.#replay = null;
    this.#stream?.reset(code);
  }
}
