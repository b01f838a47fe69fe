// The framing of the feed, both ways over any byte stream: u32 big-endian length, then JSON. docs/protocol.md 10, The feed.

import type { Duplex } from 'node:stream';
import type { FromEdge, ToEdge } from './feed.ts';

/** Twice a snapshot of ten thousand tunnels with certificates. */
export const maxFeedMessageBytes = 67_108_864;
/** Bytes that may wait for a slow peer before the feed is cut: one snapshot and some deltas. */
const maxBacklogBytes = 2 * maxFeedMessageBytes;

export interface FeedStream<Out, In> {
  /** Gets the messages in order. Assign it before the turn ends. If it throws, the feed ends. Nothing is read while its promise is open. */
  onMessage: (message: In) => void | Promise<void>;
  /** Called once, with the reason; null after a proper end. */
  onClose: (error: Error | null) => void;
  readonly closed: boolean;
  /** Always takes the message, and throws if it is too long. False asks the caller to wait for ready() before it sends more. */
  send(message: Out): boolean;
  /** Resolves when the carrier has taken what was sent, or is closed. */
  ready(): Promise<void>;
  /** Ends the feed after what was sent. */
  end(): void;
  destroy(error?: Error): void;
}

/** The edge's end and control's end of one feed. */
export const createEdgeFeed = (carrier: Duplex): FeedStream<FromEdge, ToEdge> => new JsonStream(carrier);
export const createControlFeed = (carrier: Duplex): FeedStream<ToEdge, FromEdge> => new JsonStream(carrier);

class JsonStream<Out, In> implements FeedStream<Out, In> {
  onMessage: (message: In) => void | Promise<void> = () => {};
  onClose: (error: Error | null) => void = () => {};
  closed = false;
  readonly #carrier: Duplex;
  /** Bytes of one message: at most maxFeedMessageBytes and the rest of one read. */
  #chunks: Buffer[] = [];
  #heldBytes = 0;
  /** Length of the message being read; null while the length itself is incomplete. */
  #expected: number | null = null;
  #delivering = false;
  #ended = false;
  #waiters: (() => void)[] = [];

  constructor(carrier: Duplex) {
    this.#carrier = carrier;
    carrier.on('data', (chunk: Buffer) => this.#receive(chunk));
    carrier.on('drain', () => this.#wake());
    carrier.on('end', () => this.#end());
    carrier.on('error', (error: Error) => this.destroy(error));
    carrier.on('close', () => this.destroy(new Error('the feed was cut')));
  }

  send(message: Out): boolean {
    if (this.closed) return true;
    const text = Buffer.from(JSON.stringify(message));
    if (text.length > maxFeedMessageBytes)
      throw new RangeError(`feed message of ${text.length} bytes, at most ${maxFeedMessageBytes}`);
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32BE(text.length);
    this.#carrier.cork();
    this.#carrier.write(length);
    const room = this.#carrier.write(text);
    this.#carrier.uncork();
    if (this.#carrier.writableLength > maxBacklogBytes) this.destroy(new Error('the peer of the feed does not read'));
    return room;
  }

  ready(): Promise<void> {
    if (this.closed || !this.#carrier.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  end(): void {
    if (!this.closed) this.#carrier.end();
  }

  destroy(error?: Error): void {
    if (this.closed) return;
    this.closed = true;
    this.#chunks = [];
    this.#carrier.on('error', () => {});
    this.#carrier.destroy();
    this.#wake();
    this.onClose(error ?? null);
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }

  #end(): void {
    this.#ended = true;
    if (!this.#delivering) this.#finish();
  }

  #finish(): void {
    this.destroy(this.#heldBytes > 0 ? new Error('the feed ended inside a message') : undefined);
  }

  #receive(chunk: Buffer): void {
    if (this.closed) return;
    this.#chunks.push(chunk);
    this.#heldBytes += chunk.length;
    if (!this.#delivering) void this.#deliver();
  }

  /** One message after the other. The carrier is paused while the receiver's promise is open. */
  async #deliver(): Promise<void> {
    this.#delivering = true;
    for (let text = this.#take(); text !== null; text = this.#take()) {
      const answer = this.#hand(text);
      if (answer === undefined) continue;
      this.#carrier.pause();
      await answer.catch((error: Error) => this.destroy(error));
      this.#carrier.resume();
    }
    this.#delivering = false;
    if (this.#ended) this.#finish();
  }

  #hand(text: string): void | Promise<void> {
    const message = parseMessage<In>(text);
    if (message === null) return this.destroy(new Error('feed message is not a JSON object with a type'));
    try {
      return this.onMessage(message);
    } catch (error) {
      // A receiver that throws ends this feed, not the process.
      this.destroy(error as Error);
    }
  }

  #take(): string | null {
    if (this.closed) return null;
    if (this.#expected === null && this.#heldBytes >= 4) this.#expected = this.#cut(4).readUInt32BE(0);
    if (this.#expected === null) return null;
    if (this.#expected > maxFeedMessageBytes) {
      this.destroy(new Error(`feed message of ${this.#expected} bytes, at most ${maxFeedMessageBytes}`));
      return null;
    }
    if (this.#heldBytes < this.#expected) return null;
    const text = this.#cut(this.#expected).toString('utf8');
    this.#expected = null;
    return text;
  }

  #cut(bytes: number): Buffer {
    const whole = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#heldBytes -= bytes;
    this.#chunks = whole.length > bytes ? [whole.subarray(bytes)] : [];
    return whole.subarray(0, bytes);
  }
}

function parseMessage<In>(text: string): In | null {
  try {
    const value = JSON.parse(text);
    return typeof value?.type === 'string' ? value : null;
  } catch {
    return null;
  }
}
