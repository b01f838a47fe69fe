// The inspector's port on loopback: the page's files, and the API that the page and the command line use.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isBrowserPort } from '@underpass/rules/address/browser-port.ts';
import { type FoundCall, findInspectCall, type InspectCallName, type Side } from '@underpass/rules/inspect/calls.ts';
import type { ExchangeList, InspectRefusalCode, ReplayStarted, SearchResult } from '@underpass/rules/inspect/exchange.ts';
import { gather } from '../process/bounded-file.ts';
import { ClientError, listenReason } from '../process/error.ts';
import { decodeBody } from './body-view.ts';
import { compareAnswers } from './compare.ts';
import { readHead } from './core/head.ts';
import { decideGuard } from './core/request-guard.ts';
import type { ExchangeLog, KeptExchange } from './exchange-log.ts';
import { renderCurl, renderHar } from './export.ts';
import { startLiveEvents } from './live-events.ts';
import { loadPage, type PageFile } from './page.ts';
import { readReplayRequest } from './replay-request.ts';
import { parseWords, searchExchanges } from './search.ts';
import type { InspectSources } from './sources.ts';
import { summarize, viewExchange } from './view.ts';

export interface InspectServer {
  readonly port: number;
  readonly token: string;
  /** The address with the token in the fragment, which browsers do not send. */
  readonly link: string;
  readonly close: () => void;
}

const firstPort = 4040;
/** Ports to try before any free one, so that the address is mostly the same. */
const usualPorts = Array.from({ length: 10 }, (_, index) => firstPort + index).filter(isBrowserPort);
const maxConnections = 64;
const requestTimeoutMs = 10_000;
/** A body of 1 MiB in base64, and headers. */
const maxRequestBytes = 2 * 1024 * 1024;

const headers = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
};

/** `wanted` is a port that the user chose; without it a free one is found. */
export async function startInspectServer(sources: InspectSources, wanted?: number): Promise<InspectServer> {
  // 192 bits: the live status shows the link in one line of 80 columns.
  const token = randomBytes(24).toString('base64url');
  const files = await loadPage();
  const api = createApi(sources);
  const isToken = createTokenCheck(token);
  const server = createServer({ requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs }, (request, response) => {
    const { port } = server.address() as AddressInfo;
    void answer(request, response, { port, isToken, files, api }).catch(() => response.destroy());
  });
  server.maxConnections = maxConnections;
  await listen(server, wanted);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    token,
    link: `http://127.0.0.1:${port}/#token=${token}`,
    close() {
      api.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Digests have one length, so the comparison takes the same time for every text. */
function createTokenCheck(token: string): (text: string) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const own = digest(token);
  return (text) => timingSafeEqual(digest(text), own);
}

/** Fails if the port is taken. */
export async function checkPort(wanted: number): Promise<void> {
  const server = createServer();
  await listen(server, wanted);
  server.close();
}

async function listen(server: Server, wanted: number | undefined): Promise<void> {
  const ports = wanted !== undefined ? [wanted] : [...usualPorts, 0];
  for (const port of ports) {
    try {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      return;
    } catch (cause) {
      if (port !== ports.at(-1) && (cause as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw new ClientError('port-in-use', `127.0.0.1:${port} (${listenReason(cause)})`, {
        cause,
        fix: 'Choose another port with --inspect-port.',
      });
    }
  }
}

interface Port {
  readonly port: number;
  readonly isToken: (text: string) => boolean;
  readonly files: ReadonlyMap<string, PageFile>;
  readonly api: InspectApi;
}

async function answer(request: IncomingMessage, response: ServerResponse, { port, isToken, files, api }: Port): Promise<void> {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const url = URL.parse(`http://127.0.0.1${request.url}`);
  const { host, origin, 'content-type': contentType, authorization, 'sec-fetch-site': site } = request.headers;
  const path = url?.pathname ?? '';
  const asked = { method: request.method ?? '', path, host, origin, contentType, authorization, site: site?.toString() };
  const guard = decideGuard(asked, port, isToken);
  if (guard !== 'allowed') return refuse(response, guard);
  if (path.startsWith('/api/')) return api.call(request, response, url!);
  const file = files.get(path);
  if (file === undefined) return refuse(response, 'not-found');
  if (file.encoding !== '') response.setHeader('content-encoding', file.encoding);
  response.writeHead(200, { 'content-type': file.type }).end(file.bytes);
}

const refusals: Readonly<Record<InspectRefusalCode, readonly [status: number, text: string]>> = {
  forbidden: [403, 'This port answers only its own page and the underpass command.'],
  'token-wrong': [401, 'The token is missing or wrong. Open the link that the client printed.'],
  'not-found': [404, 'There is no such thing here, or it is no longer kept.'],
  'method-not-allowed': [405, 'This method has no meaning here.'],
  invalid: [400, 'The request is malformed.'],
  'too-large': [413, 'The request is too large.'],
  'body-incomplete': [409, 'The body was longer than what the inspector keeps.'],
  busy: [429, 'Too many at once. Try again in a moment.'],
};

function refuse(response: ServerResponse, code: InspectRefusalCode, detail?: string): void {
  const [status, text] = refusals[code];
  response.setHeader('connection', 'close');
  sendJson(response, status, { error: { code, text: detail ?? text } });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
}

interface InspectApi {
  readonly call: (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;
  readonly close: () => void;
}

interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  readonly found: FoundCall;
}

/** The calls of the API. The guard has let the request through. */
function createApi(sources: InspectSources): InspectApi {
  const { log, check, state } = sources;
  const live = startLiveEvents(sources);
  const list = (): ExchangeList => ({ state: state(), exchanges: [...log.all()].map((exchange) => summarize(exchange, check)) });
  const ofExchange =
    (act: (asked: Asked, exchange: KeptExchange) => unknown) =>
    (asked: Asked): unknown => {
      const exchange = log.get(asked.found.id);
      return exchange === undefined ? refuse(asked.response, 'not-found') : act(asked, exchange);
    };
  const calls: Readonly<Record<InspectCallName, (asked: Asked) => unknown>> = {
    list: ({ response }) => sendJson(response, 200, list()),
    events: ({ response }) => live.add(response) || refuse(response, 'busy'),
    har: ({ response, query }) => sendHar(response, sources, query),
    search: ({ response, query }) => sendFound(response, sources, query),
    compare: ({ response, query }) => sendComparison(response, sources, query),
    clear({ response }) {
      log.clear();
      response.writeHead(204).end();
    },
    exchange: ofExchange(async ({ response, query }, exchange) =>
      sendJson(response, 200, await viewExchange(exchange, check, query.get('reveal') === '1')),
    ),
    curl: ofExchange(({ response, query }, exchange) => sendCurl(response, exchange, query.get('secrets') === '1')),
    body: ofExchange(({ response, found: { side } }, exchange) => sendBody(response, exchange, side)),
    replay: ofExchange(({ request, response }, exchange) => replay(request, response, exchange, sources)),
  };
  return {
    close: live.close,
    async call(request, response, { pathname, searchParams: query }) {
      const found = findInspectCall(request.method, pathname);
      if (found === null) refuse(response, 'not-found');
      else await calls[found.name]({ request, response, query, found });
    },
  };
}

/** Newest first. */
async function sendFound(response: ServerResponse, { log }: InspectSources, query: URLSearchParams): Promise<void> {
  const words = parseWords(query.get('text') ?? '');
  if (words === null) return refuse(response, 'invalid', 'The search has too many words, or too long ones.');
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const search = { words, now: log.clock.now, signal: gone.signal };
  const [found, isWhole] = await searchExchanges(chosen(log, query).reverse(), search);
  sendJson(response, 200, { found, isWhole } satisfies SearchResult);
}

async function sendHar(response: ServerResponse, { log, version }: InspectSources, query: URLSearchParams): Promise<void> {
  sendJson(response, 200, await renderHar(chosen(log, query), version, query.get('secrets') === '1'));
}

/** The exchanges of `ids`, or all. */
function chosen(log: ExchangeLog, query: URLSearchParams): KeptExchange[] {
  const ids = query.has('ids') ? new Set(query.get('ids')!.split(',').map(Number)) : null;
  return [...log.all()].filter(({ id }) => ids === null || ids.has(id));
}

async function sendComparison(response: ServerResponse, { log, check }: InspectSources, query: URLSearchParams): Promise<void> {
  const [left, right] = ['left', 'right'].map((side) => log.get(Number(query.get(side))));
  if (left === undefined || right === undefined) refuse(response, 'not-found');
  else sendJson(response, 200, await compareAnswers(left, right, check, query.get('reveal') === '1'));
}

function sendCurl(response: ServerResponse, exchange: KeptExchange, secrets: boolean): void {
  const command = renderCurl(exchange, secrets);
  if (command === null) refuse(response, 'body-incomplete');
  else response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(command);
}

/** Never under a type of its own: what a visitor or an upstream sent must not run on this origin. */
async function sendBody(response: ServerResponse, exchange: KeptExchange, side: Side): Promise<void> {
  const head = side === 'request' ? exchange.requestHead : exchange.responseHead;
  const { bytes } = await decodeBody(head === '' ? null : readHead(head), exchange[side]);
  const disposition = `attachment; filename="${side}-${exchange.id}"`;
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': disposition }).end(bytes);
}

async function replay(
  request: IncomingMessage,
  response: ServerResponse,
  exchange: KeptExchange,
  { replays }: InspectSources,
): Promise<void> {
  const text = (await gather(request, maxRequestBytes))?.toString('utf8') ?? null;
  if (text === null) return refuse(response, 'too-large');
  const edit = readReplayRequest(text);
  if (edit === null) return refuse(response, 'invalid');
  if (exchange.requestHead === '') return refuse(response, 'invalid', 'No request was seen: the upstream could not be reached.');
  if (exchange.kind === 'websocket') return refuse(response, 'invalid', 'A WebSocket cannot be replayed.');
  if (replays.isFull) return refuse(response, 'busy');
  const isCut = exchange.request.keptBytes < exchange.request.bytes;
  if (isCut && edit.body === undefined) return refuse(response, 'body-incomplete');
  const started = replays.start(exchange, edit);
  if (!started.ok) return refuse(response, 'invalid', started.message);
  sendJson(response, 201, { id: started.value } satisfies ReplayStarted);
}
