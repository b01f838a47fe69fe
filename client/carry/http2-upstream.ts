// An HTTP/1.1 connection whose requests are answered by an upstream that speaks HTTP/2. It takes the place of the socket to an
// upstream: an edge sends one request at a time, and each becomes a call. A call that the upstream has not begun is repeated.

import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { Duplex } from 'node:stream';
import { frameChunk, plainName, plainValue, renderLastChunk } from '@underpass/wire/http/chunk.ts';
import { ExchangeFollower, type ExchangeObserver } from '@underpass/wire/http/exchange-follower.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';
import type { Http2Caller } from './http2-pool.ts';

/** What is kept of a request for another try. */
const repeatBytes = 64 * 1024;
const maxTries = 3;
/** RFC 9113 8.2.2. */
const connectionFields = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

type AnswerFields = IncomingHttpHeaders & IncomingHttpStatusHeader;

/** One request and its answer. */
interface Call {
  readonly fields: OutgoingHttpHeaders;
  readonly isHead: boolean;
  /** No further request follows on this connection. */
  readonly isLast: boolean;
  readonly hasBody: boolean;
  readonly hasTrailers: boolean;
  readonly trailers: Record<string, string[]>;
  /** What was sent of the body. Null once it is too much to repeat, or an answer has begun. */
  sent: Buffer[] | null;
  sentBytes: number;
  isSent: boolean;
  tries: number;
  framing: 'unknown' | 'none' | 'length' | 'chunks';
  answerTrailers: IncomingHttpHeaders;
  /** The upstream said that its answer ends. */
  isWhole: boolean;
}

export class Http2Upstream extends Duplex {
  readonly #caller: Http2Caller;
  readonly #follower: ExchangeFollower;
  #call: Call | null = null;
  #stream: ClientHttp2Stream | null = null;
  /** Takes the next bytes once those before have left. */
  #ready: (() => void) | null = null;
  #writing = 0;
  #ended = false;

  /** Emits `connect` once a connection to the upstream is open. */
  constructor(caller: Http2Caller) {
    super({ allowHalfOpen: true });
    this.#caller = caller;
    this.#follower = new ExchangeFollower(null, null, this.#observer());
  }

  override _construct(callback: (error?: Error | null) => void): void {
    this.#caller.connect().then(() => {
      callback();
      this.emit('connect');
    }, callback);
  }

  // The request.

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error | null) => void): void {
    this.#ready = callback;
    this.#writing++;
    if (this.#follower.takeRequest(chunk)) this.#wrote();
    else this.destroy(new Error('not one request at a time'));
  }

  readonly #wrote = (): void => {
    if (--this.#writing > 0) return;
    const ready = this.#ready;
    this.#ready = null;
    ready?.();
  };

  override _final(callback: (error?: Error | null) => void): void {
    this.#ended = true;
    if (this.#call === null) this.push(null);
    else if (!this.#call.isSent) this.destroy();
    callback();
  }

  #observer(): ExchangeObserver {
    return {
      onRequest: (head, bytes, from, end) => this.#begin(head, bytes.toString('latin1', from, end)),
      onBody: (side, bytes, from, to) => side === 'request' && this.#send(bytes as Buffer, from, to),
      onTrailer: (side, name, value) => side === 'request' && this.#addTrailer(name, value),
      onDone: (side) => side === 'request' && this.#endRequest(),
      onResponse() {},
      onUpgraded() {},
      onLost: () => this.destroy(new Error('the answer is not HTTP')),
    };
  }

  #begin(head: RequestHead, text: string): void {
    const hasBody = head.bodyKind === 'chunked' || head.contentLength > 0;
    this.#call = {
      fields: callFields(text),
      isHead: head.method === 'HEAD',
      isLast: head.close,
      hasBody,
      hasTrailers: head.chunked,
      trailers: Object.create(null),
      sent: [],
      sentBytes: 0,
      isSent: false,
      tries: 0,
      framing: 'unknown',
      answerTrailers: {},
      isWhole: false,
    };
    this.#try(this.#call);
  }

  #try(call: Call): void {
    call.tries++;
    this.#writing++;
    const { fields, hasBody, hasTrailers } = call;
    this.#caller
      .call(fields, { endStream: !hasBody, waitForTrailers: hasBody && hasTrailers })
      .then((stream) => {
        if (this.#call !== call) {
          stream.close(constants.NGHTTP2_CANCEL);
          return;
        }
        this.#stream = stream;
        this.#listen(stream, call);
        for (const piece of call.sent ?? []) this.#write(stream, piece);
        if (call.isSent && hasBody) stream.end();
      })
      .catch((error) => this.destroy(error))
      .finally(this.#wrote);
  }

  /** Drops the rest of a request whose answer is whole: there is no call any more. */
  #send(bytes: Buffer, from: number, to: number): void {
    const call = this.#call;
    if (call === null) return;
    const piece = bytes.subarray(from, to);
    call.sentBytes += piece.length;
    if (call.sentBytes > repeatBytes && this.#stream !== null) call.sent = null;
    call.sent?.push(Buffer.from(piece));
    if (this.#stream !== null) this.#write(this.#stream, piece);
  }

  #write(stream: ClientHttp2Stream, piece: Buffer): void {
    this.#writing++;
    // A stream that has ended calls back, too: its upstream wants no more of this request.
    stream.write(piece, this.#wrote);
  }

  #addTrailer(name: string, value: string): void {
    const trailers = this.#call?.trailers;
    if (trailers !== undefined) trailers[name] = [...(trailers[name] ?? []), value];
  }

  #sendTrailers(stream: ClientHttp2Stream, trailers: Call['trailers']): void {
    if (stream.destroyed || stream.closed) return;
    try {
      stream.sendTrailers(trailers);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #endRequest(): void {
    const call = this.#call;
    if (call === null) return;
    call.isSent = true;
    if (call.hasBody) this.#stream?.end();
  }

  // The answer.

  override _read(): void {
    this.#stream?.resume();
  }

  #listen(stream: ClientHttp2Stream, call: Call): void {
    stream.on('headers', (fields) => {
      if (!stream.closed) this.#interim(call, fields);
    });
    stream.on('response', (fields, flags) => this.#respond(call, fields, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0));
    stream.on('trailers', (fields) => {
      call.answerTrailers = fields;
    });
    stream.on('wantTrailers', () => this.#sendTrailers(stream, call.trailers));
    stream.on('data', (piece: Buffer) => this.#answerBody(call, piece));
    watchEnd(stream, call);
    stream.on('end', () => {
      // Node also emits it for a stream that was reset: half an answer must not look whole.
      if (call.isWhole && stream.rstCode === constants.NGHTTP2_NO_ERROR) this.#endAnswer(stream, call);
    });
    stream.on('close', () => this.#closed(stream, call));
  }

  #interim(call: Call, fields: AnswerFields): void {
    this.#answer(call.framing === 'unknown' ? renderHead(fields, '') : null);
  }

  #respond(call: Call, fields: AnswerFields, isEnd: boolean): void {
    const status = fields[':status'] ?? 0;
    call.sent = null;
    call.framing = call.isHead || status === 204 || status === 304 ? 'none' : isEnd ? 'length' : framingOf(fields);
    const length = fields['content-length'];
    if (call.framing === 'none' || (call.framing === 'length' && !isEnd))
      this.#answer(renderHead(fields, status === 204 || length === undefined ? '' : `content-length: ${length}\r\n`));
    else this.#answer(renderHead(fields, isEnd ? 'content-length: 0\r\n' : 'transfer-encoding: chunked\r\n'));
  }

  #answerBody(call: Call, piece: Buffer): void {
    if (call.framing === 'length') this.#answer(piece);
    else if (call.framing === 'chunks' && piece.length > 0) this.#answer(frameChunk(piece));
  }

  #endAnswer(stream: ClientHttp2Stream, call: Call): void {
    if (this.#call !== call || call.framing === 'unknown') return;
    if (call.framing === 'chunks') this.#answer(renderLastChunk(Object.entries(call.answerTrailers)));
    if (!call.isSent && !stream.closed) stream.close(constants.NGHTTP2_CANCEL);
    this.#call = null;
    this.#stream = null;
    if (this.#ended || call.isLast) this.push(null);
  }

  #answer(bytes: Buffer | null): void {
    if (bytes === null) {
      this.destroy(new Error('the answer is not HTTP'));
      return;
    }
    if (this.destroyed) return;
    this.#follower.takeResponse(bytes);
    if (!this.push(bytes)) this.#stream?.pause();
  }

  #closed(stream: ClientHttp2Stream, call: Call): void {
    // Without `end`, so bytes of the answer are missing, or were lost unread with the connection.
    if (this.#call !== call || this.#stream !== stream) return;
    this.#stream = null;
    // RFC 9113 8.7: the upstream has not begun it. Node closes what a GOAWAY excludes with the same code.
    const mayRepeat = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM && call.sent !== null && call.tries < maxTries;
    if (mayRepeat) this.#try(call);
    else this.destroy(new Error(`the upstream ended the call (${stream.rstCode})`));
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const stream = this.#stream;
    this.#stream = null;
    this.#call = null;
    if (stream !== null && !stream.closed) stream.close(constants.NGHTTP2_CANCEL);
    callback(error);
  }
}

/** A push of null before the stream is closed is the flag END_STREAM; Node (26.10) also pushes it after a reset with NO_ERROR. */
function watchEnd(stream: ClientHttp2Stream, call: Call): void {
  const push = stream.push.bind(stream);
  stream.push = (piece, encoding) => {
    if (piece === null && !stream.closed) call.isWhole = true;
    return push(piece, encoding);
  };
}

/** The fields of a call: `text` is the head of a request that the follower has read. */
function callFields(text: string): OutgoingHttpHeaders {
  const [start = '', ...lines] = text.split('\r\n');
  const [method = '', path = ''] = start.split(' ');
  const fields: Record<string, string | string[]> = Object.create(null);
  fields[':method'] = method;
  fields[':path'] = path;
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const [name, value] = [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    if (name === 'host') fields[':authority'] = value;
    // Of TE only this value may be sent (RFC 9113 8.2.2).
    else if (name === 'te') fields.te = 'trailers';
    else if (!connectionFields.has(name)) fields[name] = name in fields ? [fields[name] ?? [], value].flat() : value;
  }
  return fields;
}

/** A body with a length keeps it for visitors, unless trailers may follow. */
function framingOf(fields: IncomingHttpHeaders): 'length' | 'chunks' {
  const mayTrail = fields.trailer !== undefined || /^application\/grpc/i.test(fields['content-type'] ?? '');
  return fields['content-length'] === undefined || mayTrail ? 'chunks' : 'length';
}

/** Null if HTTP/1.1 cannot say it. `framing`: lines. */
function renderHead(fields: AnswerFields, framing: string): Buffer | null {
  const status = fields[':status'] ?? 0;
  if (status < 100 || status === 101 || status > 599) return null;
  let text = `HTTP/1.1 ${status} \r\n`;
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith(':') || connectionFields.has(name) || name === 'te' || name === 'content-length') continue;
    for (const one of [value ?? []].flat()) {
      if (!plainName.test(name) || !plainValue.test(one)) return null;
      text += `${name}: ${one}\r\n`;
    }
  }
  return Buffer.from(`${text}${framing}\r\n`, 'latin1');
}
