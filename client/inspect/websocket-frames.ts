// Reads the frames of one direction of a WebSocket as they pass (RFC 6455 5, RFC 7692): masks, fragments, permessage-deflate.
// Nothing here can stop the connection: a broken frame ends only the reading.

import { inflateRawSync, constants as zlib } from 'node:zlib';
import type { FrameView } from '@underpass/rules/inspect/exchange.ts';
import { HeldBytes } from '@underpass/wire/http/held-bytes.ts';
import { inspectLimits } from './exchange-log.ts';
import type { InflateBudget } from './inflate-budget.ts';

type Frame = Omit<FrameView, 'atMs' | 'from'>;

interface FrameOptions {
  readonly budget: InflateBudget;
  /** permessage-deflate is agreed. */
  readonly deflate: boolean;
  /** A message may refer to the ones before it. */
  readonly keepsContext: boolean;
}

/** The longest header: 2 bytes, a length of 8, a mask of 4. */
const maxHeaderBytes = 14;
/** Bytes of a message that needs inflating; a longer one is shown by its size, and ends the context. */
const maxPackedBytes = 64 * 1024;
const maxInflatedBytes = 1024 * 1024;
/** RFC 7692 7.1.2: the largest window. */
const windowBytes = 32 * 1024;
/** RFC 7692 7.2.2: the sender has removed them. */
const tail = Buffer.from([0, 0, 255, 255]);
/** Shown of a binary message. */
const maxBinaryBytes = 1024;

const kinds: Readonly<Record<number, Frame['kind']>> = { 1: 'text', 2: 'binary', 8: 'close', 9: 'ping', 10: 'pong' };

interface Message {
  readonly kind: Frame['kind'];
  readonly packed: boolean;
  /** One span: a visitor may send a message byte by byte, in frames that never end it. */
  readonly kept: HeldBytes;
  bytes: number;
}

const nothing = Buffer.alloc(0);

export class FrameReader {
  readonly #options: FrameOptions;
  readonly #onFrame: (frame: Frame) => void;
  readonly #header = Buffer.alloc(maxHeaderBytes);
  #headerBytes = 0;
  /** Payload bytes of the frame that are still to come; -1 while the header is read. */
  #left = -1;
  #offset = 0;
  #isFinal = false;
  #mask: Buffer | null = null;
  #current: Message | null = null;
  /** A message in fragments, between which control frames may come. */
  #fragmented: Message | null = null;
  /** The last bytes of the messages before; null if they are unknown. */
  #context: Buffer | null = nothing;
  #isOff = false;

  constructor(options: FrameOptions, onFrame: (frame: Frame) => void) {
    this.#options = options;
    this.#onFrame = onFrame;
  }

  take(bytes: Buffer, from: number, to: number): void {
    let at = from;
    while (at < to && !this.#isOff) at = this.#left < 0 ? this.#takeHeader(bytes, at) : this.#takePayload(bytes, at, to);
  }

  #takeHeader(bytes: Buffer, at: number): number {
    this.#header[this.#headerBytes++] = bytes[at]!;
    if (this.#headerBytes >= 2 && this.#headerBytes === this.#headerLength()) this.#begin();
    return at + 1;
  }

  #headerLength(): number {
    const length = this.#header[1]! & 0x7f;
    return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (this.#header[1]! & 0x80 ? 4 : 0);
  }

  #begin(): void {
    const [first, second] = [this.#header[0]!, this.#header[1]!];
    const short = second & 0x7f;
    this.#left = short === 126 ? this.#header.readUInt16BE(2) : short === 127 ? Number(this.#header.readBigUInt64BE(2)) : short;
    this.#mask = second & 0x80 ? Buffer.from(this.#header.subarray(this.#headerBytes - 4, this.#headerBytes)) : null;
    this.#headerBytes = 0;
    this.#offset = 0;
    this.#isFinal = (first & 0x80) !== 0;
    this.#current = this.#messageOf(first);
    if (this.#current === null || this.#left > Number.MAX_SAFE_INTEGER) this.#isOff = true;
    else if (this.#left === 0) this.#end(this.#current);
  }

  #messageOf(first: number): Message | null {
    const opcode = first & 0x0f;
    const reserved = first & 0x70;
    if (opcode === 0) return reserved === 0 ? this.#fragmented : null;
    const kind = kinds[opcode];
    const packed = reserved === 0x40;
    if (kind === undefined || (reserved !== 0 && !(packed && this.#options.deflate && opcode < 8))) return null;
    const message = { kind, packed, kept: new HeldBytes(nothing, maxPackedBytes), bytes: 0 };
    if (opcode < 8) this.#fragmented = message;
    return message;
  }

  #takePayload(bytes: Buffer, from: number, to: number): number {
    const message = this.#current!;
    const end = Math.min(to, from + this.#left);
    const room = Math.min(end - from, (message.packed ? maxPackedBytes : inspectLimits.frameBytes) - message.kept.length);
    if (room > 0) this.#keep(message, Buffer.from(bytes.subarray(from, from + room)));
    message.bytes += end - from;
    this.#offset += end - from;
    this.#left -= end - from;
    if (this.#left === 0) this.#end(message);
    return end;
  }

  #keep(message: Message, part: Buffer): void {
    const mask = this.#mask;
    if (mask !== null) for (let i = 0; i < part.length; i++) part[i] = part[i]! ^ mask[(this.#offset + i) & 3]!;
    message.kept.add(part);
  }

  #end(message: Message): void {
    this.#left = -1;
    if (!this.#isFinal) return;
    if (message === this.#fragmented) this.#fragmented = null;
    const kept = message.kept.all;
    if (!message.packed) this.#onFrame(viewOf(message.kind, kept, message.bytes));
    else this.#onFrame(this.#inflated(message, kept));
  }

  #inflated({ kind, bytes }: Message, packed: Buffer): Frame {
    const unread: Frame = { kind, bytes, text: null, base64: null, isCut: true, closeCode: null };
    const dictionary = this.#context;
    if (!this.#options.keepsContext) this.#context = nothing;
    else this.#context = null;
    const { budget } = this.#options;
    if (dictionary === null || packed.length < bytes || budget.isSpent) return unread;
    try {
      const whole = inflateRawSync(Buffer.concat([packed, tail]), {
        finishFlush: zlib.Z_SYNC_FLUSH,
        maxOutputLength: maxInflatedBytes,
        ...(dictionary.length === 0 ? {} : { dictionary }),
      });
      budget.spend(whole.length);
      if (this.#options.keepsContext) this.#context = Buffer.from(Buffer.concat([dictionary, whole]).subarray(-windowBytes));
      return viewOf(kind, whole.subarray(0, inspectLimits.frameBytes), whole.length);
    } catch {
      budget.spend(maxInflatedBytes);
      return unread;
    }
  }
}

function viewOf(kind: Frame['kind'], kept: Buffer, bytes: number): Frame {
  const isCut = kept.length < bytes;
  const closeCode = kind === 'close' && kept.length >= 2 ? kept.readUInt16BE(0) : null;
  if (kind === 'binary') {
    const base64 = kept.subarray(0, maxBinaryBytes).toString('base64');
    return { kind, bytes, text: null, base64, isCut: bytes > maxBinaryBytes, closeCode };
  }
  const text = (closeCode === null ? kept : kept.subarray(2)).toString('utf8');
  return { kind, bytes, text, base64: null, isCut, closeCode };
}
