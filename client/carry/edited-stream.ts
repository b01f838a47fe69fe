// A visitor's stream whose heads are edited on their way to the upstream and back. relaySocket joins it to the socket in place of
// the stream itself. Loaded only for tunnels that need it.

import type { Stream } from '@underpass/wire/api.ts';
import { ExchangeFollower, type HeadEditor } from '@underpass/wire/http/exchange-follower.ts';
import type { RelayedStream } from '@underpass/wire/relay.ts';
import { createHostEditor } from './host-edit.ts';
import type { OfferedUpstream } from './upstream-map.ts';

/** The stream itself if its upstream gets the Host that the visitor sent. */
export function editStream(stream: Stream, { upstream, sentHost }: OfferedUpstream): RelayedStream {
  return sentHost === undefined ? stream : new EditedStream(stream, createHostEditor(upstream, sentHost));
}

function nothing(): void {}

class EditedStream implements RelayedStream {
  onData: (chunk: Buffer) => void = nothing;
  onEnd: () => void = nothing;
  onReset: RelayedStream['onReset'] = nothing;
  onDrain: () => void = nothing;
  readonly #stream: Stream;
  readonly #follower: ExchangeFollower;
  /** Credit to give back: bytes that came, less those that went on, plus those of them that the upstream took. May be negative. */
  #dueBytes = 0;
  /** The stream took the last write. */
  #hasRoom = true;

  constructor(stream: Stream, editor: HeadEditor) {
    this.#stream = stream;
    const out = { toUpstream: (bytes: Buffer) => this.#pass(bytes), toVisitor: (bytes: Buffer) => this.#write(bytes) };
    this.#follower = new ExchangeFollower(out, editor, null);
    stream.onData = (chunk) => this.#receive(chunk);
    stream.onEnd = () => this.onEnd();
    stream.onReset = (code) => this.onReset(code);
    stream.onDrain = () => this.onDrain();
  }

  /** A held head is bounded, so its credit goes back at once. */
  #receive(chunk: Buffer): void {
    this.#dueBytes += chunk.length;
    const isFollowed = this.#follower.takeRequest(chunk);
    this.consume(0);
    if (isFollowed) return;
    this.#stream.reset('protocol');
    // A reset by this side brings no call of the stream, and the relay has to end the socket.
    this.onReset('protocol');
  }

  #pass(bytes: Buffer): void {
    this.#dueBytes -= bytes.length;
    this.onData(bytes);
  }

  #write(bytes: Buffer): void {
    this.#hasRoom = this.#stream.write(bytes);
  }

  consume(bytes: number): void {
    this.#dueBytes += bytes;
    if (this.#dueBytes <= 0) return;
    this.#stream.consume(this.#dueBytes);
    this.#dueBytes = 0;
  }

  write(chunk: Uint8Array): boolean {
    this.#hasRoom = true;
    this.#follower.takeResponse(chunk as Buffer);
    return this.#hasRoom;
  }

  end(): void {
    this.#follower.endResponse();
    this.#stream.end();
  }

  reset(code: Parameters<Stream['reset']>[0]): void {
    this.#stream.reset(code);
  }
}
