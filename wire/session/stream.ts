// One stream of a session: credit both ways, half-close, reset. The session owns the carrier, the stream the order of its bytes.

import type { Stream } from '../api.ts';
import { ByteQueue } from '../core/byte-queue.ts';
import type { ResetCode } from '../core/code.ts';
import { nextCredit, ReceiveWindow, type RoundTrips, type WindowBudget, type WindowLimits } from '../core/credit.ts';
import { finFlag, maxDataBytes, WireError } from '../core/frame.ts';
import type { OpenRequest } from '../core/open.ts';
import type { Times } from '../core/times.ts';

/** What a stream needs from its session. */
export interface StreamHost {
  readonly hasRoom: boolean;
  readonly limits: WindowLimits;
  readonly budget: WindowBudget;
  readonly roundTrips: RoundTrips;
  now(): number;
  sendData(flags: number, stream: number, payload: Uint8Array): void;
  sendOpened(stream: MuxStream): void;
  sendCredit(stream: number, bytes: number): void;
  sendReset(stream: number, code: ResetCode): void;
  sendTimes(stream: number, times: Times): void;
  /** Calls stream.proceed() once the carrier has room, each waiting stream in its turn. */
  awaitRoom(stream: MuxStream): void;
  forget(stream: MuxStream): void;
}

function nothing(): void {}
const noBytes = new Uint8Array(0);

export class MuxStream implements Stream {
  readonly id: number;
  readonly request: OpenRequest;
  readonly ours: boolean;
  opened = false;
  closed = false;
  remoteEnded = false;
  receivedBytes = 0;
  sentBytes = 0;
  onOpened: () => void = nothing;
  onData: (chunk: Buffer) => void = nothing;
  onEnd: () => void = nothing;
  onTimes: (times: Times) => void = nothing;
  onReset: (code: ResetCode) => void = nothing;
  onDrain: () => void = nothing;
  onQuiet: () => void = nothing;
  onClose: () => void = nothing;
  /** True while the stream is in the session's list of streams that wait for the carrier. */
  isQueued = false;

  readonly #host: StreamHost;
  readonly #window: ReceiveWindow;
  #credit: number;
  #unconsumedBytes = 0;
  /** Bytes that wait for OPENED, credit or the carrier. #enqueue bounds it: it resets the stream of a writer that ignores false. */
  readonly #queue = new ByteQueue();
  #ending = false;
  #localEnded = false;
  /** write() returned false: an onDrain must follow. */
  #owesDrain = false;

  constructor(host: StreamHost, id: number, ours: boolean, request: OpenRequest, credit: number, windowBytes: number) {
    this.#host = host;
    this.id = id;
    this.ours = ours;
    this.request = request;
    this.#credit = credit;
    this.#window = new ReceiveWindow(windowBytes, host.now());
    host.budget.take(windowBytes);
  }

  /** What the peer may still send. After a reset by this side that much may still arrive. */
  get receivableBytes(): number {
    return this.#window.leftBytes;
  }

  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  accept(): void {
    if (this.closed || this.opened || this.ours) return;
    this.opened = true;
    this.#host.sendOpened(this);
    if (this.#queue.bytes > 0) this.#host.awaitRoom(this);
    else if (this.#ending && !this.closed) this.#sendEnd(noBytes);
  }

  /** The acceptor's bytes and its end wait until it has sent OPENED. */
  get #maySend(): boolean {
    return this.opened || this.ours;
  }

  write(chunk: Uint8Array): boolean {
    if (this.closed || this.#ending) return false;
    const host = this.#host;
    const length = chunk.length;
    const fits = this.#queue.bytes === 0 && length <= this.#credit && length <= maxDataBytes;
    if (!fits || !this.#maySend || !host.hasRoom) return this.#enqueue(chunk);
    if (length === 0) return true;
    this.#credit -= length;
    this.sentBytes += length;
    host.sendData(0, this.id, chunk);
    return host.hasRoom || this.#holdBack();
  }

  #holdBack(): false {
    this.#owesDrain = true;
    this.#host.awaitRoom(this);
    return false;
  }

  #enqueue(chunk: Uint8Array): boolean {
    const queue = this.#queue;
    if (chunk.length === 0) return queue.bytes === 0;
    // A relay from another stream holds up to a whole window of that stream when this one stalls.
    if (queue.bytes > this.#host.limits.maxWindowBytes) {
      this.reset('internal');
      return false;
    }
    queue.push(chunk);
    this.proceed();
    if (queue.bytes > 0) this.#owesDrain = true;
    else if (!this.#host.hasRoom) return this.#holdBack();
    return !this.#owesDrain;
  }

  tellTimes(times: Times): void {
    if (!this.closed && !this.#ending) this.#host.sendTimes(this.id, times);
  }

  end(): void {
    if (this.closed || this.#ending) return;
    this.#ending = true;
    if (this.#queue.bytes === 0 && this.#maySend) this.#sendEnd(noBytes);
  }

  #sendEnd(payload: Uint8Array): void {
    this.#localEnded = true;
    this.#host.sendData(finFlag, this.id, payload);
    if (this.remoteEnded) this.#close();
  }

  /** Sends one queued frame if it may. Then it waits for its next turn, or calls onDrain if nothing is queued. */
  proceed(): void {
    if (this.closed) return;
    const canSend = this.#credit > 0 && this.#maySend;
    if (this.#queue.bytes > 0 && canSend && this.#host.hasRoom) this.#sendQueued();
    if (this.closed || this.#localEnded) return;
    if (this.#queue.bytes > 0) {
      if (this.#credit > 0 && this.#maySend) this.#host.awaitRoom(this);
    } else if (this.#owesDrain) this.#drained();
  }

  #drained(): void {
    if (!this.#host.hasRoom) {
      this.#host.awaitRoom(this);
      return;
    }
    this.#owesDrain = false;
    this.onDrain();
  }

  #sendQueued(): void {
    const piece = this.#queue.take(Math.min(this.#credit, maxDataBytes));
    this.#credit -= piece.length;
    this.sentBytes += piece.length;
    if (this.#ending && this.#queue.bytes === 0) this.#sendEnd(piece);
    else this.#host.sendData(0, this.id, piece);
  }

  reset(code: ResetCode): void {
    if (this.closed) return;
    this.#host.sendReset(this.id, code);
    this.#close();
  }

  consume(bytes: number): void {
    const counted = Math.min(bytes, this.#unconsumedBytes);
    this.#unconsumedBytes -= counted;
    if (!this.#window.consume(counted) || this.remoteEnded || this.closed) return;
    const host = this.#host;
    host.sendCredit(this.id, this.#window.grant(host.now(), host.roundTrips, host.limits, host.budget));
  }

  /** OPENED gives credit: it widens the small first window to a full one. */
  widen(bytes: number): void {
    this.#window.widen(bytes);
    this.#host.budget.take(bytes);
  }

  receiveHeader(length: number): void {
    if (this.remoteEnded) throw new WireError('protocol', `DATA after the end of stream ${this.id}`);
    if (this.ours && !this.opened) throw new WireError('protocol', `DATA before OPENED of stream ${this.id}`);
    this.#window.receive(length);
  }

  receivePiece(piece: Uint8Array): void {
    this.receivedBytes += piece.length;
    this.#unconsumedBytes += piece.length;
    this.onData(piece as Buffer);
  }

  receiveEnd(): void {
    this.remoteEnded = true;
    this.onEnd();
    if (this.#localEnded && !this.closed) this.#close();
  }

  receiveOpened(credit: number): void {
    if (!this.ours || this.opened) throw new WireError('protocol', `OPENED out of place on stream ${this.id}`);
    this.opened = true;
    if (credit > 0) this.#credit = nextCredit(this.#credit, credit);
    this.onOpened();
    if (credit > 0) this.#host.awaitRoom(this);
  }

  receiveCredit(bytes: number): void {
    this.#credit = nextCredit(this.#credit, bytes);
    if (this.#queue.bytes > 0) this.#host.awaitRoom(this);
  }

  receiveTimes(times: Times): void {
    if (this.ours) throw new WireError('protocol', `TIMES from the acceptor of stream ${this.id}`);
    this.onTimes(times);
  }

  /** The peer's RESET, or the loss of the carrier. */
  receiveReset(code: ResetCode): void {
    if (this.closed) return;
    this.onReset(code);
    this.#close();
  }

  #close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#queue.clear();
    this.#host.budget.give(this.#window.windowBytes);
    this.#host.forget(this);
    this.onClose();
  }
}
