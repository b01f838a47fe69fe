// Sends a kept request again: as it was, edited, or to another address. It goes from this machine, not through the edge.

import type { Duplex } from 'node:stream';
import type { ReplayRequest, ShownHeader } from '@underpass/rules/inspect/exchange.ts';
import { accept, type Parsed, refuse } from '@underpass/rules/parsed.ts';
import { formatUpstream, isLoopbackHost, parseUpstreamHost, parseUrlUpstream } from '@underpass/rules/tunnel/upstream.ts';
import { ExchangeFollower } from '@underpass/wire/http/exchange-follower.ts';
import { createHostEditor } from '../carry/host-edit.ts';
import { createOpenUpstream } from '../carry/open-upstream.ts';
import { decideFailure } from '../carry/serve.ts';
import { Capture } from './capture.ts';
import { fieldOf, type ReadHead, readHead } from './core/head.ts';
import { isSecretHeader } from './core/secret-header.ts';
import { bytesOf, type ExchangeLog, type KeptExchange, type Route } from './exchange-log.ts';
import { errorOf } from './inspect-error.ts';

/** Time until the answer is complete; an endless stream of events is cut then. */
const replayTimeoutMs = 60_000;
/** Replays at once. */
const maxReplays = 8;

export interface Replays {
  /** The id of the new exchange. */
  start(original: KeptExchange, edit: ReplayRequest): Parsed<number>;
  readonly isFull: boolean;
  close(): void;
}

export function createReplays(log: ExchangeLog): Replays {
  const running = new Set<() => void>();
  return {
    get isFull() {
      return running.size >= maxReplays;
    },
    start(original, edit) {
      const route = decideRoute(original, edit);
      if (!route.ok) return route;
      const message = renderRequest(original, edit, mayHoldSecrets(route.value, edit));
      if (!message.ok) return message;
      const capture = new Capture(log, {
        tunnel: original.tunnel,
        route: route.value,
        visitorAddress: '',
        replayOf: original.id,
        rttMs: () => null,
      });
      capture.rx(message.value);
      if (capture.latest === null) return refuse('The request is not well-formed HTTP/1.1');
      const stop = send(capture, route.value, message.value, () => running.delete(stop));
      running.add(stop);
      return accept(capture.latest.id);
    },
    close() {
      for (const stop of [...running]) stop();
    },
  };
}

/** Another address gets itself as Host: it does not know the tunnel's public name. A Host that the user typed is sent as it is. */
function decideRoute({ route, requestHead }: KeptExchange, { to, headers }: ReplayRequest): Parsed<Route> {
  const typed = headers?.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? null;
  const isTyped = typed !== null && typed !== fieldOf(readHead(requestHead), 'host');
  if (to === undefined) return accept(isTyped ? withTypedHost(route) : route);
  const parsed = parseUrlUpstream(to);
  if (!parsed.ok) return parsed;
  // What is typed on a page reaches HTTP services of the network, and not the sockets of this machine.
  if (parsed.value.socket !== undefined || parsed.value.base !== undefined)
    return refuse('Give scheme, host and port alone, like http://127.0.0.1:8080');
  const own = parseUpstreamHost('upstream', parsed.value);
  const sentHost = !isTyped && own.ok ? (own.value ?? undefined) : undefined;
  return accept({ upstream: parsed.value, trust: { caPem: undefined, insecure: false }, preface: new Uint8Array(0), sentHost });
}

const withTypedHost = ({ routes, ...route }: Route): Route => ({
  ...route,
  sentHost: undefined,
  routes: routes?.map(({ sentHost, ...one }) => one),
});

/** Cookies and tokens belong to this tunnel's service: another machine gets only the secrets that the user typed. */
function mayHoldSecrets({ upstream: { host } }: Route, { to }: ReplayRequest): boolean {
  return to === undefined || isLoopbackHost(host);
}

const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
const targetPattern = /^[\x21-\x7e\x80-\xff]{1,16384}$/;
const valuePattern = /^[\t\x20-\x7e\x80-\xff]{0,32768}$/;
const maxHeaders = 200;

function renderRequest(original: KeptExchange, edit: ReplayRequest, keepsSecrets: boolean): Parsed<Buffer> {
  const head = readHead(original.requestHead);
  const [oldMethod, oldTarget] = head.startLine;
  const { method = oldMethod, target = oldTarget } = edit;
  if (!tokenPattern.test(method)) return refuse('The method is not one word of HTTP');
  if (!targetPattern.test(target) || !/^[/*]/.test(target)) return refuse('The path must begin with / and have no spaces');
  const body = bodyOf(original, edit);
  // The page shows and edits a body without its coding.
  const isText = edit.body !== undefined && 'text' in edit.body;
  if (body === null) return refuse('The body was not kept whole: give a new one');
  const wanted = edit.headers ?? head.headers.map(([name]) => [name, null] as const);
  const headers = headersOf(
    head,
    wanted.filter(([name]) => !(isText && /^content-encoding$/i.test(name))),
    keepsSecrets,
  );
  if (headers === null) return refuse('A header has a name or a value that HTTP does not allow');
  const framing = body.length > 0 || /^(POST|PUT|PATCH)$/.test(method) ? `Content-Length: ${body.length}\r\n` : '';
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return accept(Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}${framing}\r\n`, 'latin1'), body]));
}

function bodyOf({ request }: KeptExchange, { body }: ReplayRequest): Buffer | null {
  if (body === undefined) return request.keptBytes < request.bytes ? null : bytesOf(request);
  return 'text' in body ? Buffer.from(body.text, 'utf8') : Buffer.from(body.base64, 'base64');
}

/** A replay frames its body itself, and never upgrades. */
const ownHeaders = /^(content-length|transfer-encoding|connection|upgrade|expect|te|trailer|keep-alive)$/i;

function headersOf(
  head: ReadHead,
  wanted: readonly ShownHeader[],
  keepsSecrets: boolean,
): readonly (readonly [string, string])[] | null {
  if (wanted.length > maxHeaders) return null;
  const used = new Map<string, number>();
  const headers: (readonly [string, string])[] = [];
  for (const [name, given] of wanted) {
    const key = name.toLowerCase();
    const nth = used.get(key) ?? 0;
    used.set(key, nth + 1);
    if (ownHeaders.test(name) || (given === null && !keepsSecrets && isSecretHeader(name))) continue;
    const value = given ?? head.headers.filter(([old]) => old.toLowerCase() === key)[nth]?.[1];
    if (value === undefined || !tokenPattern.test(name) || !valuePattern.test(value)) return null;
    headers.push([name, value]);
  }
  return headers;
}

/** Returns a function that ends it. */
function send(capture: Capture, route: Route, message: Buffer, onEnd: () => void): () => void {
  const { upstream, trust, preface } = route;
  const { routes, sentHost } = route;
  const isRouted = routes !== undefined || upstream.base !== undefined;
  const socket = createOpenUpstream(trust)(
    { upstream, ...(routes && { routes }), ...(sentHost !== undefined && { sentHost }) },
    preface,
  );
  const answers = sendEdited(capture, isRouted ? { ...route, sentHost: undefined } : route, message, socket);
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    socket.destroy();
    capture.closed();
    onEnd();
  };
  const timer = setTimeout(() => {
    capture.failedWith(errorOf('replay-timeout'));
    end();
  }, replayTimeoutMs);
  socket.once(upstream.scheme === 'https' && !isRouted ? 'secureConnect' : 'connect', () => capture.connected());
  socket.on('data', (bytes: Buffer) => {
    answers.take(bytes);
    if (capture.latest?.state !== 'open') end();
  });
  socket.on('end', () => {
    answers.end();
    end();
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    const detail = `${formatUpstream(upstream)} (${error.code ?? error.message})`;
    if (capture.latest?.responseHead === '') capture.failed({ code: decideFailure(error), detail });
    end();
  });
  socket.on('close', end);
  return end;
}

interface Answers {
  readonly take: (bytes: Buffer) => void;
  readonly end: () => void;
}

/** Sends the Host that the tunnel's own requests get; the capture has the public one, as theirs do. */
function sendEdited(capture: Capture, { upstream, sentHost }: Route, message: Buffer, socket: Duplex): Answers {
  if (sentHost === undefined) {
    socket.write(message);
    return { take: (bytes) => capture.tx(bytes), end: () => capture.txEnd() };
  }
  const follower = new ExchangeFollower(
    { toUpstream: (bytes) => socket.write(Buffer.from(bytes)), toVisitor: (bytes) => capture.tx(bytes) },
    createHostEditor(upstream, sentHost),
    null,
  );
  follower.takeRequest(message);
  return {
    take: (bytes) => follower.takeResponse(bytes),
    end() {
      follower.endResponse();
      capture.txEnd();
    },
  };
}
