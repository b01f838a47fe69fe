// A session: many streams over one carrier (TLS socket, pipe, unix socket), one per side. docs/protocol.md is the law here.

import type { Duplex } from 'node:stream';
import type { Session, SessionEnd, Stream } from './api.ts';
import { readBorrowed } from './borrowed.ts';
import { Bucket } from './core/bucket.ts';
import { type GoawayCode, goawayCodeOf, goawayCodes, type ResetCode, resetCodeOf, resetCodes } from './core/code.ts';
import { minWindowBytes, nextInitialWindow, type RoundTrips, WindowBudget, type WindowLimits } from './core/credit.ts';
import { FrameDecoder, type FrameSink } from './core/decoder.ts';
import { frameType, readU16, readU32, WireError, writeU16, writeU32 } from './core/frame.ts';
import {
  currentVersion,
  decideVersion,
  encodeHello,
  encodeInfo,
  type Hello,
  type Info,
  offerVersion,
  oldestVersion,
  parseHello,
  parseInfo,
} from './core/hello.ts';
import { encodeOffers, type Offer, parseOffers } from './core/offer.ts';
import { encodeOpen, type OpenRequest, parseOpen } from './core/open.ts';
import { StrayAllowance } from './core/stray.ts';
import { News } from './news.ts';
import { Output } from './output.ts';
import { Pulse } from './pulse.ts';
import { MuxStream, type StreamHost } from './stream.ts';

export interface SessionLimits extends WindowLimits {
  /** Streams that the peer may have open at once; beyond it an OPEN is answered with RESET busy. */
  readonly maxStreams: number;
  /** Streams opened by the peer and not yet accepted; each may have minWindowBytes of data waiting. */
  readonly maxPendingOpens: number;
}

export const defaultLimits: SessionLimits = {
  maxStreams: 16_384,
  maxPendingOpens: 1_024,
  initialWindowBytes: 262_144,
  // 16 MiB fills 1 Gbit/s at 130 ms.
  maxWindowBytes: 16_777_216,
  // What stalled readers can make one side hold beyond minWindowBytes per stream.
  sessionWindowBytes: 67_108_864,
};

/** What a session needs of time; tests pass their own. */
export interface SessionClock {
  now(): number;
  /** Calls back every ms; the answer stops it. Must not keep the process alive. */
  every(ms: number, task: () => void): () => void;
}

export interface SessionOptions {
  /** The dialer opens odd stream ids, the acceptor even ones. */
  readonly side: 'dialer' | 'acceptor';
  /** False where the peer is a client: an OPEN from it ends the session. */
  readonly peerMayOpen: boolean;
  readonly info: Info;
  readonly limits?: Partial<SessionLimits>;
  /** Where several sessions share one, so that their number does not multiply it; else the session has its own. */
  readonly budget?: WindowBudget;
  readonly clock?: SessionClock;
  /** Newest version to speak; for tests of one version against another. */
  readonly newestVersion?: number;
}

export const realClock: SessionClock = {
  now: () => performance.now(),
  every(ms, task) {
    const timer = setInterval(task, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};

/** After a GOAWAY the peer has this long to take it before the carrier is destroyed. */
const lingerMs = 2_000;
const maxStreamId = 0xffff_fffe;
/** GOAWAY text: 512 bytes with the code, cut well below. */
const maxDetailBytes = 400;

const nothing = (): void => {};
const text = new TextDecoder();

export function createSession(carrier: Duplex, options: SessionOptions): Session {
  return new MuxSession(carrier, options);
}

class MuxSession implements Session, StreamHost, FrameSink {
  version = 0;
  peerInfo: Info = {};
  peerOffers: readonly Offer[] | null = null;
  closed = false;
  receivedBytes = 0;
  sentBytes = 0;
  onReady: () => void = nothing;
  onStream: (stream: Stream) => void = nothing;
  onOffers: (offers: readonly Offer[]) => void = nothing;
  onInfo: (info: Info) => void = nothing;
  onProof: (rttMs: number) => void = nothing;
  onGoaway: (code: GoawayCode, detail: string) => void = nothing;
  onClose: (end: SessionEnd) => void = nothing;

  readonly limits: SessionLimits;
  readonly budget: WindowBudget;
  readonly #carrier: Duplex;
  readonly #options: SessionOptions;
  readonly #clock: SessionClock;
  readonly #output: Output;
  readonly #decoder = new FrameDecoder(this);
  readonly #pings: Bucket;
  readonly #notices: Bucket;
  readonly #pulse: Pulse;
  readonly #news: News;
  readonly #stray = new StrayAllowance();
  readonly #streams = new Map<number, MuxStream>();

  #peer: Hello | null = null;
  #nextId: number;
  #lastPeerId = 0;
  #ourStreams = 0;
  #pendingOpens = 0;
  /** The stream of the DATA frame being read; null while its bytes are to be dropped. */
  #current: MuxStream | null = null;
  /** Streams that wait for room on the carrier, in the order of their turns; each at most once. */
  #waiting: MuxStream[] = [];
  #rotating = false;
  #goawaySent = false;
  #goawayReceived = false;

  constructor(carrier: Duplex, options: SessionOptions) {
    this.limits = { ...defaultLimits, ...options.limits };
    this.budget = options.budget ?? new WindowBudget(this.limits.sessionWindowBytes);
    this.#carrier = carrier;
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#output = new Output(carrier, this.#rotate, () => this.now());
    this.#nextId = options.side === 'dialer' ? 1 : 2;
    // Twenty a second is a hundred times the rate of a peer that keeps to the page.
    this.#pings = new Bucket('PING', 20, 40, this.now());
    this.#notices = new Bucket('OFFER and INFO', 20, 40, this.now());
    this.#news = new News(this.#clock, (type, payload) => this.#output.frame(type, 0, payload));
    this.#listen(carrier);
    this.#pulse = this.#createPulse();
    this.#output.frame(frameType.hello, 0, encodeHello(this.#hello()));
  }

  #createPulse(): Pulse {
    return new Pulse({
      clock: this.#clock,
      sendPing: (payload) => this.#output.frame(frameType.ping, 0, payload),
      onProof: (rttMs) => this.onProof(rttMs),
      onSilent: () => this.#finish({ code: 'silent', by: 'us', detail: 'nothing arrived for too long' }),
    });
  }

  #listen(carrier: Duplex): void {
    const socket = carrier as Duplex & { setNoDelay?: (on: boolean) => void };
    socket.setNoDelay?.(true);
    readBorrowed(carrier, this.#receive);
    carrier.on('end', () => this.#lost('the peer ended the connection'));
    carrier.on('error', (error) => this.#lost(error.message));
    carrier.on('close', () => this.#lost('the connection closed'));
  }

  #hello(): Hello {
    const { maxStreams, initialWindowBytes } = this.limits;
    const newest = this.#options.newestVersion ?? currentVersion;
    const windowBytes = Math.min(minWindowBytes, initialWindowBytes);
    return { oldest: oldestVersion, newest, maxStreams, windowBytes, info: this.#options.info };
  }

  // The user's side.

  get rttMs(): number | null {
    return this.#pulse.rttMs;
  }

  get provenAtMs(): number | null {
    return this.#pulse.provenAtMs;
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  get backlogBytes(): number {
    return this.#output.backlogBytes;
  }

  get takesStreams(): boolean {
    return this.#peer !== null && !this.closed && !this.#leaving;
  }

  get canOpen(): boolean {
    return this.takesStreams && this.#ourStreams < this.#peer!.maxStreams && this.#output.hasRoomToOpen;
  }

  get #leaving(): boolean {
    return this.#goawaySent || this.#goawayReceived;
  }

  open(request: OpenRequest): Stream {
    const peer = this.#peer;
    if (peer === null || !this.canOpen) throw new Error('open() on a session that cannot open');
    const windowBytes = nextInitialWindow(this.budget, this.limits);
    const payload = encodeOpen(request, windowBytes);
    const stream = new MuxStream(this, this.#nextId, true, request, peer.windowBytes, windowBytes);
    this.#streams.set(stream.id, stream);
    this.#ourStreams++;
    this.#output.frame(frameType.open, stream.id, payload);
    this.#nextId += 2;
    if (this.#nextId > maxStreamId - 2) this.drain('stream ids are used up');
    return stream;
  }

  offer(offers: readonly Offer[]): void {
    if (this.version >= offerVersion && !this.closed) this.#news.tell(frameType.offer, encodeOffers(offers));
  }

  inform(info: Info): void {
    if (this.version >= offerVersion && !this.closed) this.#news.tell(frameType.info, encodeInfo(info));
  }

  drain(detail = ''): void {
    if (this.closed || this.#goawaySent) return;
    this.#sendGoaway('drain', detail);
    this.#closeIfDone();
  }

  close(code: GoawayCode = 'drain', detail = ''): void {
    this.#finish({ code, by: 'us', detail });
  }

  // What streams ask of the session.

  get hasRoom(): boolean {
    return this.#output.hasRoom;
  }

  get roundTrips(): RoundTrips {
    return this.#pulse;
  }

  now(): number {
    return this.#clock.now();
  }

  sendData(flags: number, stream: number, payload: Uint8Array): void {
    this.sentBytes += payload.length;
    this.#output.frame(frameType.data | flags, stream, payload);
  }

  sendOpened(stream: MuxStream): void {
    this.#pendingOpens--;
    const bytes = Math.max(0, nextInitialWindow(this.budget, this.limits) - minWindowBytes);
    stream.widen(bytes);
    this.#sendU32(frameType.opened, stream.id, bytes);
  }

  sendCredit(stream: number, bytes: number): void {
    this.#sendU32(frameType.credit, stream, bytes);
  }

  #sendU32(type: number, stream: number, value: number): void {
    const payload = new Uint8Array(4);
    writeU32(payload, 0, value);
    this.#output.frame(type, stream, payload);
    this.#checkReserve();
  }

  sendReset(stream: number, code: ResetCode): void {
    const payload = new Uint8Array(2);
    writeU16(payload, 0, resetCodes[code]);
    this.#output.frame(frameType.reset, stream, payload);
    const known = this.#streams.get(stream);
    if (known !== undefined && !known.remoteEnded) this.#stray.add(known.receivableBytes);
  }

  awaitRoom(stream: MuxStream): void {
    if (!stream.awaiting) {
      stream.awaiting = true;
      this.#waiting.push(stream);
    }
    if (!this.#rotating) this.#rotate();
  }

  /** One frame for each waiting stream in its turn, as long as the carrier has room. */
  readonly #rotate = (): void => {
    if (this.#rotating || this.closed) return;
    this.#rotating = true;
    while (this.#waiting.length > 0 && this.#output.hasRoom) {
      const stream = this.#waiting.shift()!;
      stream.awaiting = false;
      stream.proceed();
    }
    this.#rotating = false;
  };

  forget(stream: MuxStream): void {
    this.#streams.delete(stream.id);
    if (stream.ours) this.#ourStreams--;
    else if (!stream.opened) this.#pendingOpens--;
    if (this.#current === stream) this.#current = null;
    if (this.#leaving) this.#closeIfDone();
  }

  // What the carrier brings.

  readonly #receive = (chunk: Buffer): void => {
    this.#pulse.heard = true;
    try {
      if (!this.closed) this.#decoder.push(chunk);
    } catch (error) {
      this.#fail(error);
    }
  };

  #fail(error: unknown): void {
    const code = error instanceof WireError ? error.code : 'internal';
    const detail = error instanceof Error ? error.message : String(error);
    this.#finish({ code, by: 'us', detail });
  }

  dataHeader(id: number, length: number): void {
    if (this.closed) return;
    const stream = this.#streams.get(id);
    this.#current = stream ?? null;
    if (stream !== undefined) stream.receiveHeader(length);
    else {
      this.#mustHaveExisted(id);
      this.#stray.spend(id, length);
    }
  }

  dataPiece(_id: number, piece: Uint8Array): void {
    const stream = this.#current;
    if (stream === null || this.closed) return;
    this.receivedBytes += piece.length;
    stream.receivePiece(piece);
  }

  dataEnd(): void {
    if (this.#current !== null && !this.closed) this.#current.receiveEnd();
  }

  control(type: number, id: number, payload: Uint8Array): void {
    if (this.closed) return;
    if (type === frameType.hello) this.#receiveHello(payload);
    else if (type === frameType.goaway) this.#receiveGoaway(payload);
    else if (this.#peer === null) throw new WireError('protocol', `type ${type} before HELLO`);
    else if (type === frameType.open) this.#receiveOpen(id, payload);
    else if (type === frameType.ping) this.#receivePing(payload);
    else if (type === frameType.pong) this.#pulse.receivePong(payload);
    else if (id === 0) this.#receiveNotice(type, payload);
    else this.#receiveForStream(type, id, payload);
  }

  #receiveForStream(type: number, id: number, payload: Uint8Array): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) this.#mustHaveExisted(id);
    else if (type === frameType.credit) stream.receiveCredit(readU32(payload, 0));
    else if (type === frameType.opened) stream.receiveOpened(readU32(payload, 0));
    else stream.receiveReset(resetCodeOf(readU16(payload, 0)));
  }

  #mustHaveExisted(id: number): void {
    const ours = id % 2 === this.#nextId % 2;
    if (ours ? id >= this.#nextId : id > this.#lastPeerId) throw new WireError('protocol', `stream ${id} was never opened`);
  }

  #receiveHello(payload: Uint8Array): void {
    if (this.#peer !== null) throw new WireError('protocol', 'second HELLO');
    const hello = parseHello(payload);
    const version = decideVersion(this.#hello(), hello);
    if (version === null) throw new WireError('version', `peer speaks versions ${hello.oldest} to ${hello.newest}`);
    this.#peer = hello;
    this.version = version;
    this.peerInfo = hello.info;
    this.#pulse.greet();
    this.onReady();
  }

  #receiveOpen(id: number, payload: Uint8Array): void {
    if (!this.#options.peerMayOpen) throw new WireError('protocol', 'this peer may not open streams');
    if (id % 2 === this.#nextId % 2 || id <= this.#lastPeerId)
      throw new WireError('protocol', `OPEN with id ${id} after ${this.#lastPeerId}`);
    const { request, windowBytes } = parseOpen(payload);
    this.#lastPeerId = id;
    const refusal = this.#refusal();
    if (refusal === null) this.#admit(id, request, windowBytes);
    else this.#refuse(id, refusal);
  }

  #admit(id: number, request: OpenRequest, credit: number): void {
    const stream = new MuxStream(this, id, false, request, credit, this.#hello().windowBytes);
    this.#streams.set(id, stream);
    this.#pendingOpens++;
    this.onStream(stream);
  }

  #refusal(): ResetCode | null {
    if (this.#goawaySent) return 'refused';
    const peerStreams = this.#streams.size - this.#ourStreams;
    return peerStreams >= this.limits.maxStreams || this.#pendingOpens >= this.limits.maxPendingOpens ? 'busy' : null;
  }

  /** The opener may have sent a first window of data behind its OPEN. */
  #refuse(id: number, code: ResetCode): void {
    this.sendReset(id, code);
    this.#stray.add(this.#hello().windowBytes);
    this.#checkReserve();
  }

  #receivePing(payload: Uint8Array): void {
    this.#pings.take(this.now());
    this.#output.frame(frameType.pong, 0, payload);
    this.#checkReserve();
  }

  /** Does not throw: credit is given by readers too. */
  #checkReserve(): void {
    if (!this.#output.withinReserve) this.#fail(new WireError('flood', 'the peer does not read the answers it causes'));
  }

  #receiveNotice(type: number, payload: Uint8Array): void {
    if (this.version < offerVersion) throw new WireError('protocol', `type ${type} in version ${this.version}`);
    this.#notices.take(this.now());
    if (type === frameType.info) {
      this.peerInfo = parseInfo(payload);
      this.onInfo(this.peerInfo);
    } else {
      this.peerOffers = parseOffers(payload);
      this.onOffers(this.peerOffers);
    }
  }

  #receiveGoaway(payload: Uint8Array): void {
    const code = goawayCodeOf(readU16(payload, 0));
    const detail = text.decode(payload.subarray(2));
    if (this.#goawayReceived) throw new WireError('protocol', 'second GOAWAY');
    this.#goawayReceived = true;
    this.onGoaway(code, detail);
    if (code === 'drain') this.#answerDrain();
    else this.#finish({ code, by: 'peer', detail });
  }

  #answerDrain(): void {
    // The answer tells the peer that no OPEN of ours is on its way any more.
    if (!this.#goawaySent) this.#sendGoaway('drain', '');
    this.#closeIfDone();
  }

  // The end.

  #sendGoaway(code: GoawayCode, detail: string): void {
    this.#goawaySent = true;
    const words = new TextEncoder().encode(detail).subarray(0, maxDetailBytes);
    const payload = new Uint8Array(2 + words.length);
    writeU16(payload, 0, goawayCodes[code]);
    payload.set(words, 2);
    this.#output.frame(frameType.goaway, 0, payload);
  }

  #closeIfDone(): void {
    if (this.#goawaySent && this.#goawayReceived && this.#streams.size === 0) {
      this.#finish({ code: 'closed', by: 'us', detail: 'drained' });
    }
  }

  #lost(detail: string): void {
    if (this.#goawayReceived && this.#streams.size === 0) this.#finish({ code: 'closed', by: 'peer', detail: 'drained' });
    else this.#finish({ code: 'lost', by: 'peer', detail });
  }

  #finish(end: SessionEnd): void {
    if (this.closed) return;
    this.closed = true;
    this.#pulse.stop();
    this.#news.stop();
    if (end.by === 'us' && end.code !== 'closed' && end.code !== 'lost' && !this.#goawaySent)
      this.#sendGoaway(end.code, end.detail);
    this.#output.finish();
    this.#hangUp();
    this.#waiting = [];
    for (const stream of [...this.#streams.values()]) stream.receiveReset('carrier-lost');
    this.onClose(end);
  }

  #hangUp(): void {
    const carrier = this.#carrier;
    carrier.removeListener('data', this.#receive);
    carrier.resume();
    if (carrier.destroyed) return;
    const stop = this.#clock.every(lingerMs, () => {
      stop();
      carrier.destroy();
    });
    carrier.once('close', stop);
    carrier.end();
  }
}
