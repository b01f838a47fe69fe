// A session: many streams over one carrier (TLS socket, pipe, unix socket), one per side. It mirrors docs/protocol.md.

import type { Duplex } from 'node:stream';
import type { Session, SessionEnd, Stream } from '../api.ts';
import { realClock, type SessionClock } from '../clock.ts';
import { type GoawayCode, type ResetCode, resetCodeOf, resetCodes } from '../core/code.ts';
import { minWindowBytes, nextInitialWindow, type RoundTrips, WindowBudget, type WindowLimits } from '../core/credit.ts';
import { FrameDecoder, type FrameSink } from '../core/decoder.ts';
import { frameType, readU16, readU32, WireError, writeU16, writeU32 } from '../core/frame.ts';
import { afterGoaway, encodeGoaway, parseGoaway, type SessionState } from '../core/goaway.ts';
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
} from '../core/hello.ts';
import { LateDataAllowance } from '../core/late-data.ts';
import { encodeOffers, type Offer, parseOffers } from '../core/offer.ts';
import { encodeOpen, type OpenRequest, parseOpen } from '../core/open.ts';
import { RateLimit } from '../core/rate-limit.ts';
import { encodeTimes, parseTimes, type Times } from '../core/times.ts';
import { isCollapsed, isLongPath } from '../path/core/congestion.ts';
import { isLossy, nextLosses, noLosses } from '../path/core/losses.ts';
import { Pacer } from '../path/pacer.ts';
import { TailProbe } from '../path/tail-probe.ts';
import { adaptControl, limitUnsent, readTcpInfo } from '../path/tcp-path.ts';
import { readShared } from '../socket/shared-read.ts';
import { FrameWriter } from './frame-writer.ts';
import { KeepAlive } from './keep-alive.ts';
import { Notices } from './notices.ts';
import { RoundRobin } from './round-robin.ts';
import { MuxStream, type StreamHost } from './stream.ts';
import { StreamTable } from './stream-table.ts';

interface SessionLimits extends WindowLimits {
  /** Streams that the peer may have open at once; an OPEN beyond it is answered with RESET busy. */
  readonly maxStreams: number;
  /** Streams that the peer opened and this side has not accepted; for each, minWindowBytes of data may wait. */
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

export interface SessionOptions {
  /** The dialer opens odd stream ids, the acceptor even ones. */
  readonly side: 'dialer' | 'acceptor';
  /** False if the peer is a client: an OPEN from it ends the session. */
  readonly peerMayOpen: boolean;
  readonly info: Info;
  readonly limits?: Partial<SessionLimits>;
  /** One budget for several sessions, so that their number does not multiply it. Without it the session has its own. */
  readonly budget?: WindowBudget;
  readonly clock?: SessionClock;
  /** Newest version to speak; for tests of one version against another. */
  readonly newestVersion?: number;
}

/** Time for the peer to read a GOAWAY before the carrier is destroyed. */
const lingerMs = 2_000;

/** What the peer's HELLO said, and the version that follows from it. */
interface Peer {
  readonly version: number;
  readonly maxStreams: number;
  readonly windowBytes: number;
}

/** Bytes in the kernel, not yet sent, on a long path: 5 ms at 200 Mbit/s, so a busy event loop does not stall the carrier. */
const unsentBytes = 131_072;

/** What `widen` sends: 256 kB, so a window of 10 segments grows to some 180. A peer takes 40 INFOs at once. */
const widenPads = 16;
const padBytes = 16_000;

function nothing(): void {}

export function createSession(carrier: Duplex, options: SessionOptions): Session {
  return new MuxSession(carrier, options);
}

class MuxSession implements Session, StreamHost, FrameSink {
  peerInfo: Info = {};
  peerOffers: readonly Offer[] | null = null;
  receivedBytes = 0;
  sentBytes = 0;
  onReady: () => void = nothing;
  onStream: (stream: Stream) => void = nothing;
  onOffers: (offers: readonly Offer[]) => void = nothing;
  onInfo: (info: Info) => void = nothing;
  onProof: (rttMs: number) => void = nothing;
  onQuiet: () => void = nothing;
  onGoaway: (code: GoawayCode, detail: string) => void = nothing;
  onClose: (end: SessionEnd) => void = nothing;

  readonly limits: SessionLimits;
  readonly budget: WindowBudget;
  readonly #carrier: Duplex;
  readonly #clock: SessionClock;
  readonly #ourHello: Hello;
  readonly #peerMayOpen: boolean;
  readonly #writer: FrameWriter;
  readonly #decoder = new FrameDecoder(this);
  readonly #streams: StreamTable;
  readonly #pacer: Pacer;
  readonly #roundRobin: RoundRobin;
  readonly #keepAlive: KeepAlive;
  readonly #tailProbe: TailProbe;
  readonly #ourNotices: Notices;
  readonly #pingLimit: RateLimit;
  readonly #noticeLimit: RateLimit;
  readonly #lateData = new LateDataAllowance();

  /** -1 before the first look. */
  #adaptedAtBytes = -1;
  #congestion: string | null = null;
  /** The round trip of the TCP connection, where the kernel says; else of PINGs. */
  #minRttMs = 0;
  #losses = noLosses;
  /** What was sent at the last call of the tail probe. */
  #probedAtBytes = 0;
  /** Padding frames that `widen` has yet to send. */
  #padsLeft = 0;
  #state: SessionState = 'open';
  /** Null until the peer's HELLO has arrived. */
  #peer: Peer | null = null;
  /** The stream of the DATA frame being read; null while its bytes are to be dropped. */
  #current: MuxStream | null = null;

  constructor(carrier: Duplex, options: SessionOptions) {
    const clock = options.clock ?? realClock;
    this.limits = { ...defaultLimits, ...options.limits };
    this.budget = options.budget ?? new WindowBudget(this.limits.sessionWindowBytes);
    this.#carrier = carrier;
    this.#clock = clock;
    this.#ourHello = createHello(this.limits, options);
    this.#peerMayOpen = options.peerMayOpen;
    this.#writer = new FrameWriter(carrier, (bytes) => this.#written(bytes), clock);
    this.#pacer = new Pacer(carrier);
    this.#streams = new StreamTable(options.side);
    this.#roundRobin = new RoundRobin(this.#writer);
    // Twenty a second is a hundred times the rate of a peer that follows the page.
    this.#pingLimit = new RateLimit('PING', 20, 40, clock.now());
    this.#noticeLimit = new RateLimit('OFFER and INFO', 20, 40, clock.now());
    this.#ourNotices = new Notices(clock, (type, payload) => this.#writer.frame(type, 0, payload));
    this.#listen(carrier);
    this.#keepAlive = this.#createKeepAlive();
    this.#tailProbe = new TailProbe(clock, () => this.#keepAlive.probe());
    this.#writer.frame(frameType.hello, 0, encodeHello(this.#ourHello));
  }

  #createKeepAlive(): KeepAlive {
    return new KeepAlive({
      clock: this.#clock,
      sendPing: (payload) => this.#writer.frame(frameType.ping, 0, payload),
      opens: !this.#peerMayOpen,
      onProof: (rttMs) => this.#proven(rttMs),
      onQuiet: () => this.#becameQuiet(),
      onSilent: () => this.#finish({ code: 'silent', by: 'us', detail: 'nothing arrived for too long' }),
    });
  }

  /** The path may have turned out longer, or lossy; an idle one shows nothing new. */
  #proven(rttMs: number): void {
    const movedBytes = this.receivedBytes + this.sentBytes;
    if (movedBytes !== this.#adaptedAtBytes) this.#lookAtPath();
    this.#adaptedAtBytes = movedBytes;
    this.onProof(rttMs);
  }

  #lookAtPath(): void {
    this.#congestion = adaptControl(this.#carrier);
    const wasFar = this.isFar;
    const info = readTcpInfo(this.#carrier);
    this.#minRttMs = info?.minRttMs ?? this.leastRttMs;
    if (info !== null) this.#losses = nextLosses(this.#losses, info);
    if (this.isFar && !wasFar) limitUnsent(this.#carrier, unsentBytes);
  }

  #written(bytes: number): void {
    if (this.isFar && this.#congestion === 'bbr') this.#pacer.written(bytes, this.#clock.now(), this.#minRttMs);
    this.#roundRobin.run();
    this.#pad();
    if (isLossy(this.#losses)) this.#probeTail();
  }

  /** A PONG is no reason for a PING: two probes would answer each other for ever. */
  #probeTail(): void {
    if (!this.isFar || this.closed || this.sentBytes === this.#probedAtBytes) return;
    this.#probedAtBytes = this.sentBytes;
    this.#tailProbe.written();
  }

  #listen(carrier: Duplex): void {
    const socket = carrier as Duplex & { setNoDelay?: (on: boolean) => void };
    socket.setNoDelay?.(true);
    readShared(carrier, this.#receive);
    carrier.on('end', () => this.#lost('the peer ended the connection'));
    carrier.on('error', (error) => this.#lost(error.message));
    carrier.on('close', () => this.#lost('the connection closed'));
  }

  // What the user of the session calls.

  get version(): number {
    return this.#peer?.version ?? 0;
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  get rttMs(): number | null {
    return this.#keepAlive.rttMs;
  }

  get leastRttMs(): number {
    return this.#keepAlive.leastRttMs;
  }

  get congestion(): string | null {
    return this.#congestion;
  }

  get isFar(): boolean {
    return isLongPath(this.#minRttMs);
  }

  get isFull(): boolean {
    return this.#writer.isWaiting;
  }

  get isCollapsed(): boolean {
    const info = readTcpInfo(this.#carrier);
    return info !== null && isCollapsed(this.#congestion, info);
  }

  widen(): void {
    if (!this.isFar || this.#congestion !== 'bbr' || this.version < offerVersion || this.closed) return;
    this.#padsLeft = widenPads;
    this.#pad();
  }

  /** One at a time, so that visitors come first. Once one is here, the answers widen the window. */
  #pad(): void {
    if (this.#streams.size > 0) this.#padsLeft = 0;
    if (this.#padsLeft === 0 || this.#writer.isWaiting) return;
    this.#padsLeft--;
    const info = { ...this.#ourHello.info, padding: ' '.repeat(padBytes) };
    this.#writer.frame(frameType.info, 0, encodeInfo(info));
  }

  get provenAtMs(): number | null {
    return this.#keepAlive.provenAtMs;
  }

  get isQuiet(): boolean {
    return this.#keepAlive.isQuiet;
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  get takesStreams(): boolean {
    return this.#peer !== null && this.#state === 'open';
  }

  get canOpen(): boolean {
    return this.takesStreams && this.#streams.ourCount < this.#peer!.maxStreams && this.#writer.hasRoomToOpen;
  }

  open(request: OpenRequest): Stream {
    const peer = this.#peer;
    if (peer === null || !this.canOpen) throw new Error('open() on a session that cannot open');
    const windowBytes = nextInitialWindow(this.budget, this.limits, this.isFar);
    const payload = encodeOpen(request, windowBytes);
    const stream = new MuxStream(this, this.#streams.nextId, true, request, peer.windowBytes, windowBytes);
    this.#streams.add(stream);
    this.#writer.frame(frameType.open, stream.id, payload);
    this.#keepAlive.asked();
    if (!this.#streams.hasIds) this.drain('stream ids are used up');
    return stream;
  }

  #becameQuiet(): void {
    this.onQuiet();
    this.doubt(() => true);
  }

  doubt(isDoubted: (request: OpenRequest) => boolean): void {
    for (const stream of this.#streams.all()) if (stream.ours && !stream.closed && isDoubted(stream.request)) stream.onQuiet();
  }

  offer(offers: readonly Offer[]): void {
    if (this.version >= offerVersion && !this.closed) this.#ourNotices.send(frameType.offer, encodeOffers(offers));
  }

  inform(info: Info): void {
    if (this.version >= offerVersion && !this.closed) this.#ourNotices.send(frameType.info, encodeInfo({ ...info, tcp: true }));
  }

  drain(detail = ''): void {
    const next = afterGoaway.ours[this.#state];
    if (next === null) return;
    this.#state = next;
    this.#writer.frame(frameType.goaway, 0, encodeGoaway('drain', detail));
    this.#closeIfDone();
  }

  close(code: GoawayCode = 'drain', detail = ''): void {
    this.#finish({ code, by: 'us', detail });
  }

  // What streams call.

  get hasRoom(): boolean {
    return this.#writer.hasRoom;
  }

  get roundTrips(): RoundTrips {
    return this.#keepAlive;
  }

  now(): number {
    return this.#clock.now();
  }

  sendData(flags: number, stream: number, payload: Uint8Array): void {
    this.sentBytes += payload.length;
    this.#writer.frame(frameType.data | flags, stream, payload);
  }

  sendOpened(stream: MuxStream): void {
    this.#streams.pendingCount--;
    const bytes = Math.max(0, nextInitialWindow(this.budget, this.limits, this.isFar) - minWindowBytes);
    stream.widen(bytes);
    this.#sendU32(frameType.opened, stream.id, bytes);
  }

  sendCredit(stream: number, bytes: number): void {
    this.#sendU32(frameType.credit, stream, bytes);
  }

  #sendU32(type: number, stream: number, value: number): void {
    const payload = new Uint8Array(4);
    writeU32(payload, 0, value);
    this.#writer.frame(type, stream, payload);
    this.#checkReserve();
  }

  sendReset(stream: number, code: ResetCode): void {
    const payload = new Uint8Array(2);
    writeU16(payload, 0, resetCodes[code]);
    this.#writer.frame(frameType.reset, stream, payload);
    const known = this.#streams.get(stream);
    if (known !== undefined && !known.remoteEnded) this.#lateData.add(known.receivableBytes);
    this.#checkReserve();
  }

  sendTimes(stream: number, times: Times): void {
    this.#writer.lateFrame(frameType.times, stream, encodeTimes(times));
    this.#checkReserve();
  }

  awaitRoom(stream: MuxStream): void {
    this.#roundRobin.add(stream);
  }

  forget(stream: MuxStream): void {
    this.#streams.delete(stream);
    if (this.#current === stream) this.#current = null;
    this.#closeIfDone();
  }

  // What the carrier delivers.

  readonly #receive = (chunk: Buffer): void => {
    this.#keepAlive.heard = true;
    this.#keepAlive.answered = true;
    try {
      if (this.#state !== 'closed') this.#decoder.push(chunk);
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
    if (this.#state === 'closed') return;
    const stream = this.#streams.get(id);
    this.#current = stream ?? null;
    if (stream !== undefined) stream.receiveHeader(length);
    else {
      this.#streams.requireUsed(id);
      this.#lateData.spend(id, length);
    }
  }

  dataPiece(_id: number, piece: Uint8Array): void {
    const stream = this.#current;
    if (stream === null || this.#state === 'closed') return;
    this.receivedBytes += piece.length;
    stream.receivePiece(piece);
  }

  dataEnd(): void {
    if (this.#current !== null && this.#state !== 'closed') this.#current.receiveEnd();
  }

  control(type: number, id: number, payload: Uint8Array): void {
    if (this.#state === 'closed') return;
    if (type === frameType.hello) this.#receiveHello(payload);
    else if (type === frameType.goaway) this.#receiveGoaway(payload);
    else if (this.#peer === null) throw new WireError('protocol', `type ${type} before HELLO`);
    else if (type === frameType.open) this.#receiveOpen(id, payload);
    else if (type === frameType.ping) this.#receivePing(payload);
    else if (type === frameType.pong) this.#keepAlive.receivePong(payload);
    else if (id === 0) this.#receiveNotice(type, payload);
    else this.#receiveForStream(type, id, payload);
  }

  #receiveForStream(type: number, id: number, payload: Uint8Array): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) this.#streams.requireUsed(id);
    else if (type === frameType.credit) stream.receiveCredit(readU32(payload, 0));
    else if (type === frameType.opened) stream.receiveOpened(readU32(payload, 0));
    else if (type === frameType.times) stream.receiveTimes(parseTimes(payload));
    else stream.receiveReset(resetCodeOf(readU16(payload, 0)));
  }

  #receiveHello(payload: Uint8Array): void {
    if (this.#peer !== null) throw new WireError('protocol', 'second HELLO');
    const { oldest, newest, maxStreams, windowBytes, info } = parseHello(payload);
    const version = decideVersion(this.#ourHello, { oldest, newest });
    if (version === null) throw new WireError('version', `peer speaks versions ${oldest} to ${newest}`);
    this.#peer = { version, maxStreams, windowBytes };
    this.peerInfo = info;
    this.#keepAlive.greet();
    this.onReady();
  }

  #receiveOpen(id: number, payload: Uint8Array): void {
    if (!this.#peerMayOpen) throw new WireError('protocol', 'this peer may not open streams');
    const { request, windowBytes } = parseOpen(payload);
    this.#streams.usePeerId(id);
    const refusal = this.#refusal();
    if (refusal === null) this.#admit(id, request, windowBytes);
    else this.#refuse(id, refusal);
  }

  #refusal(): ResetCode | null {
    if (this.#state !== 'open') return 'refused';
    const { maxStreams, maxPendingOpens } = this.limits;
    return this.#streams.peerCount >= maxStreams || this.#streams.pendingCount >= maxPendingOpens ? 'busy' : null;
  }

  #admit(id: number, request: OpenRequest, credit: number): void {
    const stream = new MuxStream(this, id, false, request, credit, this.#ourHello.windowBytes);
    this.#streams.add(stream);
    this.onStream(stream);
  }

  /** The opener may have sent a first window of data right after its OPEN. */
  #refuse(id: number, code: ResetCode): void {
    this.sendReset(id, code);
    this.#lateData.add(this.#ourHello.windowBytes);
  }

  #receivePing(payload: Uint8Array): void {
    this.#pingLimit.take(this.now());
    this.#writer.frame(frameType.pong, 0, payload);
    this.#checkReserve();
  }

  /** Does not throw: readers that give credit call it too. */
  #checkReserve(): void {
    if (!this.#writer.withinReserve) this.#fail(new WireError('flood', 'the peer does not read the answers it causes'));
  }

  #receiveNotice(type: number, payload: Uint8Array): void {
    if (this.version < offerVersion) throw new WireError('protocol', `type ${type} in version ${this.version}`);
    this.#noticeLimit.take(this.now());
    if (type === frameType.info) {
      this.peerInfo = parseInfo(payload);
      this.onInfo(this.peerInfo);
    } else {
      this.peerOffers = parseOffers(payload);
      this.onOffers(this.peerOffers);
    }
  }

  // The end.

  #receiveGoaway(payload: Uint8Array): void {
    const { code, detail } = parseGoaway(payload);
    const next = afterGoaway.theirs[this.#state];
    if (next === null) throw new WireError('protocol', 'second GOAWAY');
    this.#state = next;
    this.onGoaway(code, detail);
    if (code !== 'drain') this.#finish({ code, by: 'peer', detail });
    else {
      // Our answer says that no OPEN of ours is under way any more. It has gone out already if this side drained first.
      this.drain();
      this.#closeIfDone();
    }
  }

  #closeIfDone(): void {
    if (this.#state === 'both-leaving' && this.#streams.size === 0) this.#finish({ code: 'closed', by: 'us', detail: 'drained' });
  }

  #lost(detail: string): void {
    const peerHasLeft = this.#state === 'peer-leaving' || this.#state === 'both-leaving';
    if (peerHasLeft && this.#streams.size === 0) this.#finish({ code: 'closed', by: 'peer', detail: 'drained' });
    else this.#finish({ code: 'lost', by: 'peer', detail });
  }

  #finish(end: SessionEnd): void {
    if (this.#state === 'closed') return;
    const mayLeave = afterGoaway.ours[this.#state] !== null;
    this.#state = 'closed';
    this.#roundRobin.stop();
    this.#keepAlive.stop();
    this.#tailProbe.stop();
    this.#ourNotices.stop();
    if (mayLeave && end.by === 'us' && end.code !== 'closed' && end.code !== 'lost')
      this.#writer.frame(frameType.goaway, 0, encodeGoaway(end.code, end.detail));
    this.#writer.finish();
    this.#endCarrier();
    for (const stream of this.#streams.all()) stream.receiveReset('carrier-lost');
    this.onClose(end);
  }

  #endCarrier(): void {
    const carrier = this.#carrier;
    carrier.removeListener('data', this.#receive);
    carrier.resume();
    if (carrier.destroyed) return;
    const stopTimer = this.#clock.every(lingerMs, () => {
      stopTimer();
      carrier.destroy();
    });
    carrier.once('close', stopTimer);
    carrier.end();
  }
}

function createHello({ maxStreams, initialWindowBytes }: SessionLimits, { newestVersion, info }: SessionOptions): Hello {
  const windowBytes = Math.min(minWindowBytes, initialWindowBytes);
  return {
    oldest: oldestVersion,
    newest: newestVersion ?? currentVersion,
    maxStreams,
    windowBytes,
    info: { ...info, tcp: true },
  };
}
