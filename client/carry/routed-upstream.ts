// An HTTP/1.1 connection whose requests go to the upstream that their path names, below the base of that upstream. It takes the
// place of the socket to one upstream. A request that may lead elsewhere than it says goes to none.

import { Duplex } from 'node:stream';
import type { Upstream } from '@underpass/rules/tunnel/upstream.ts';
import { reachOf } from '@underpass/rules/visit/method-reach.ts';
import { chooseUpstream, targetBelow } from '@underpass/rules/visit/upstream-path.ts';
import { ExchangeFollower, type HeadEditor } from '@underpass/wire/http/exchange-follower.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { createPathEditor } from './path-edit.ts';
import { needsRoutes, type ServedUpstream } from './upstream-map.ts';
import { connectTimeoutMs } from './upstream-socket.ts';

/** The connection to one upstream, kept for the visitor's next requests. */
interface Way {
  readonly to: ServedUpstream;
  readonly socket: Duplex;
  readonly editor: HeadEditor;
  /** The target of the request under way. */
  target: string;
}

const refusals = {
  unclear: ['400 Bad Request', 'Servers read this path in different ways, so it leads to no service.'],
  method: ['403 Forbidden', 'This method may name a path elsewhere, and the service is open below one path alone.'],
  none: ['404 Not Found', 'No service has this path.'],
} as const;

export class RoutedUpstream extends Duplex {
  readonly #upstreams: readonly ServedUpstream[];
  readonly #open: (upstream: Upstream) => Duplex;
  readonly #follower: ExchangeFollower;
  readonly #ways = new Map<ServedUpstream, Way>();
  #way: Way | null = null;
  #refusal: keyof typeof refusals | null = null;
  #isRefused = false;
  #isAnswered = true;
  #writing = 0;
  #ready: (() => void) | null = null;

  /** Emits `connect` with each upstream that accepts a connection, and with null if it refuses a request itself. */
  constructor(upstreams: readonly ServedUpstream[], open: (upstream: Upstream) => Duplex) {
    super({ allowHalfOpen: true });
    this.#upstreams = upstreams;
    this.#open = open;
    const out = { toUpstream: (bytes: Buffer) => this.#send(bytes), toVisitor: (bytes: Buffer) => this.#answer(bytes) };
    const editor: HeadEditor = {
      editRequest: (head, bytes, from, end) => this.#begin(head, bytes, from, end),
      editResponse: (head, bytes, from, end) => this.#way?.editor.editResponse(head, bytes, from, end) ?? null,
    };
    this.#follower = new ExchangeFollower(out, editor, {
      onRequest() {},
      // The protocol after it ends where the upstream ends.
      onResponse: ({ status }) => {
        if (status === 101) this.#isAnswered = true;
      },
      onBody() {},
      onTrailer() {},
      onUpgraded() {},
      onLost() {},
      onDone: (side) => {
        if (side === 'response') this.#isAnswered = true;
      },
    });
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error | null) => void): void {
    this.#ready = callback;
    this.#writing++;
    const isFollowed = this.#refusal !== null || this.#follower.takeRequest(chunk);
    if (isFollowed) this.#wrote();
    else this.destroy(new Error('not one request at a time'));
    if (this.#refusal !== null) this.#refuse(this.#refusal);
  }

  readonly #wrote = (): void => {
    if (--this.#writing > 0) return;
    const ready = this.#ready;
    this.#ready = null;
    ready?.();
  };

  #begin(head: RequestHead, bytes: Buffer, from: number, end: number): Buffer | null {
    const target = bytes.toString('latin1', head.targetStart, head.targetEnd);
    const chosen = chooseUpstream(this.#upstreams, target);
    const moved = chosen === null || chosen === 'unclear' ? null : targetBelow(chosen.upstream, target);
    if (chosen === null || chosen === 'unclear' || moved === null) {
      this.#refusal = chosen === null ? 'none' : 'unclear';
      return null;
    }
    if (
      needsRoutes(chosen) &&
      reachOf(bytes.toString('latin1', head.lineStart, head.methodEnd), overrideOf(head, bytes)) === 'service'
    ) {
      this.#refusal = 'method';
      return null;
    }
    this.#isAnswered = false;
    const way = this.#wayTo(chosen);
    way.target = moved;
    this.#way = way;
    return way.editor.editRequest(head, bytes, from, end);
  }

  #wayTo(to: ServedUpstream): Way {
    const known = this.#ways.get(to);
    if (known !== undefined) return known;
    const socket = this.#open(to.upstream);
    const way: Way = { to, socket, target: '', editor: createPathEditor(to.upstream, to.sentHost, () => way.target) };
    this.#ways.set(to, way);
    this.#listen(way);
    return way;
  }

  #listen(way: Way): void {
    const { socket, to } = way;
    let isOpen = false;
    // The upstream is named only if it accepts no connection: one that breaks off is no worse than any other that does.
    const fail = (error: Error): void => void this.destroy(isOpen ? error : Object.assign(error, { upstream: to.upstream }));
    const timer = setTimeout(() => fail(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })), connectTimeoutMs);
    socket.once(to.upstream.scheme === 'https' ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      isOpen = true;
      this.emit('connect', to.upstream);
    });
    socket.on('data', (chunk: Buffer) => {
      if (this.#way === way) this.#follower.takeResponse(chunk);
      else this.#drop(way);
    });
    socket.on('end', () => this.#ended(way));
    socket.on('error', (error) => (this.#way === way ? fail(error) : this.#drop(way)));
    socket.on('close', () => {
      clearTimeout(timer);
      if (this.#way === way && !socket.readableEnded) fail(new Error('the upstream broke off'));
      this.#drop(way);
    });
  }

  #ended(way: Way): void {
    if (this.#way !== way) {
      this.#drop(way);
      return;
    }
    this.#follower.endResponse();
    if (this.#isAnswered) this.push(null);
    else this.destroy(new Error('the upstream ended early'));
  }

  /** Forgets a connection that serves no request now. */
  #drop(way: Way): void {
    if (this.#ways.get(way.to) === way) this.#ways.delete(way.to);
    if (this.#way !== way) resetSocket(way.socket);
  }

  #send(bytes: Buffer): void {
    if (this.#refusal !== null || this.#way === null) return;
    this.#writing++;
    this.#way.socket.write(bytes, this.#wrote);
  }

  #answer(bytes: Buffer): void {
    // The follower lends its buffers.
    if (!this.push(Buffer.from(bytes))) this.#way?.socket.pause();
  }

  #refuse(why: keyof typeof refusals): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.emit('connect', null);
    const [status, text] = refusals[why];
    const fields = `Content-Type: text/plain\r\nContent-Length: ${text.length + 1}\r\nConnection: close\r\n`;
    this.push(`HTTP/1.1 ${status}\r\n${fields}\r\n${text}\n`);
    this.push(null);
  }

  override _read(): void {
    this.#way?.socket.resume();
  }

  override _final(callback: (error?: Error | null) => void): void {
    for (const { socket } of this.#ways.values()) socket.end();
    if (this.#way === null && this.#refusal === null) this.push(null);
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    for (const { socket } of this.#ways.values()) resetSocket(socket);
    this.#ways.clear();
    callback(error);
  }
}

/** Several are as bad as an unknown one. */
function overrideOf(head: RequestHead, bytes: Buffer): string | null {
  if (head.overrideCount === 0) return null;
  return head.overrideCount > 1 ? 'several' : bytes.toString('latin1', head.overrideStart, head.overrideEnd);
}
