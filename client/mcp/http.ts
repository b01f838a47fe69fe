// The streamable HTTP endpoint, `/mcp`. Requests come through the tunnel alone, because nothing listens; the edge names the visitor.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { gather } from '../process/bounded-file.ts';
import type { Bridge, Refusal } from './bridge.ts';
import { checkMessage, type Era, idOf, type MessageHeaders, sessionVersions } from './core/check.ts';
import { codes, errorOf, type Id, type Json, type Message, parseMessage } from './core/message.ts';
import type { McpLimits } from './limits.ts';
import { createOpenAnswers } from './open-answers.ts';
import { createOutlet } from './outlet.ts';
import type { Session } from './session.ts';

/** The only path, so that a rule for it holds for every call. `/`, as of a pasted address, leads there. */
const mcpPath = '/mcp';

/** The edge sets it for a visitor whom the access policy admitted, and removes what visitors send under this name. */
const visitorHeader = 'x-underpass-user';

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly visitor: string;
  /** The client's revision knows an event without data. */
  readonly primes: boolean;
}

export function createMcpHandler(bridge: Bridge, limits: McpLimits): Handle {
  /** Messages that are read or wait for their server, of each visitor. */
  const arriving = new Map<string, number>();
  const answers = createOpenAnswers(limits);

  return async (request, response) => {
    const visitor = header(request, visitorHeader);
    const path = request.url?.split('?')[0] ?? '';
    if (path === '/') return void redirect(response, mcpPath);
    if (path !== mcpPath) return void refuse(response, 404, 'Not found. The MCP endpoint is /mcp');
    if (visitor === undefined || visitor === '')
      return void refuse(response, 403, 'Only visitors who signed in may use this server');
    if (!isOwnOrigin(request)) return void refuse(response, 403, 'Pages of other origins may not use this server');
    if (!answers.take(visitor, response)) return void refuse(response, 503, 'Too many answers are open or not read');
    const primes = (header(request, 'mcp-protocol-version') ?? '') >= sessionVersions[0]!;
    const visit = { request, response, visitor, primes };
    if (request.method === 'POST') return post(visit);
    if (request.method === 'GET') return get(visit);
    if (request.method === 'DELETE') return end(visit);
    response.setHeader('allow', 'POST, GET, DELETE');
    refuse(response, 405, 'Method not allowed');
  };

  async function post(visit: Visit): Promise<void> {
    const { request, response } = visit;
    if (!isJson(request)) return void refuse(response, 415, 'Content-Type must be application/json');
    if (!accepts(request, 'application/json') || !accepts(request, 'text/event-stream'))
      return refuse(response, 406, 'Accept must list application/json and text/event-stream');
    const count = arriving.get(visit.visitor) ?? 0;
    if (count >= limits.arriving) return void refuse(response, 503, 'Too many messages arrive at once');
    arriving.set(visit.visitor, count + 1);
    await takeMessage(visit).finally(() => {
      const rest = (arriving.get(visit.visitor) ?? 1) - 1;
      if (rest > 0) arriving.set(visit.visitor, rest);
      else arriving.delete(visit.visitor);
    });
  }

  async function takeMessage(visit: Visit): Promise<void> {
    const { request, response } = visit;
    const body = await readBody(request, limits);
    if (typeof body === 'number')
      return refuse(response, body, body === 413 ? tooLarge(limits) : 'The message did not arrive in time');
    const parsed = parseMessage(body);
    if (!parsed.ok) return void refuse(response, 400, parsed.text, parsed.code);
    const checked = checkMessage(headersOf(request), parsed.message);
    if (!checked.ok) return answer(response, 400, errorOf(idOf(parsed.message), checked.code, checked.text, checked.data));
    return route(visit, parsed.message, checked.era);
  }

  async function route(visit: Visit, message: Message, era: Era): Promise<void> {
    const { response, visitor, primes } = visit;
    const outlet = createOutlet(response, limits);
    if (era === 'stateless') {
      if (message.kind === 'answer') return void refuse(response, 400, 'This revision has no answers of clients');
      if (message.kind === 'notification') return void outlet.end();
      return refuseIf(response, message.id, await bridge.requestStateless(visitor, message, outlet));
    }
    if (message.kind === 'request' && message.method === 'initialize') {
      if (sessionIdOf(visit.request) !== undefined)
        return refuse(response, 400, 'The session is initialized', codes.invalid, message.id);
      return refuseIf(response, message.id, await bridge.openSession(visitor, message, outlet, primes));
    }
    const session = findSession(visit, idOf(message));
    if (session === undefined) return;
    if (message.kind === 'request') return session.request(message, outlet, primes);
    if (message.kind === 'notification') session.notify(message);
    else if (!session.respond(message)) return refuse(response, 400, 'The server does not wait for this answer');
    outlet.end();
  }

  async function get(visit: Visit): Promise<void> {
    const { request, response, primes } = visit;
    if (!accepts(request, 'text/event-stream')) return void refuse(response, 406, notForBrowsers);
    // In 2026-07-28 there is no GET; its clients send no session.
    if (sessionIdOf(request) === undefined) return void refuse(response, 405, 'GET needs the header Mcp-Session-Id');
    const session = findSession(visit);
    if (session === undefined) return;
    const lastEventId = header(request, 'last-event-id');
    if (!session.listen(createOutlet(response, limits), lastEventId, primes))
      refuse(response, 400, 'The events after Last-Event-ID are gone');
  }

  async function end(visit: Visit): Promise<void> {
    if (sessionIdOf(visit.request) === undefined)
      return void refuse(visit.response, 405, 'DELETE needs the header Mcp-Session-Id');
    const session = findSession(visit);
    if (session === undefined) return;
    bridge.endSession(session);
    visit.response.writeHead(204).end();
  }

  function findSession({ request, response, visitor }: Visit, id?: Id): Session | undefined {
    const sessionId = sessionIdOf(request);
    const version = header(request, 'mcp-protocol-version');
    const session = sessionId === undefined ? undefined : bridge.session(sessionId, visitor);
    if (sessionId === undefined)
      refuse(response, 400, 'The header Mcp-Session-Id is missing: send initialize first', codes.invalid, id);
    else if (version !== undefined && !sessionVersions.includes(version))
      refuse(response, 400, 'Unsupported protocol version', codes.unsupportedVersion, id);
    else if (session === undefined) refuse(response, 404, 'There is no such session: send initialize again', codes.timeout, id);
    else return session;
    return undefined;
  }
}

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  // Node joins a repeated field with commas, which no valid value has.
  return typeof value === 'string' ? value.trim() : undefined;
}

const sessionIdOf = (request: IncomingMessage): string | undefined => header(request, 'mcp-session-id');

function headersOf(request: IncomingMessage): MessageHeaders {
  return {
    version: header(request, 'mcp-protocol-version'),
    method: header(request, 'mcp-method'),
    name: header(request, 'mcp-name'),
    hasParams: Object.keys(request.headers).some((name) => name.startsWith('mcp-param-')),
  };
}

/** The specification demands it, although no page can rebind a name to this server: it has no address of its own. */
function isOwnOrigin({ headers: { origin, host } }: IncomingMessage): boolean {
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

const isJson = (request: IncomingMessage): boolean => /^application\/json\s*(;|$)/i.test(header(request, 'content-type') ?? '');

function accepts(request: IncomingMessage, type: string): boolean {
  const ranges = (header(request, 'accept') ?? '*/*').split(',').map((range) => range.split(';')[0]!.trim().toLowerCase());
  return ranges.some((range) => range === type || range === '*/*' || range === `${type.split('/')[0]}/*`);
}

const notForBrowsers = 'This is an MCP server: give its address to an MCP client. GET needs Accept: text/event-stream';

const tooLarge = ({ bodyBytes }: McpLimits): string => `The message is larger than ${bodyBytes} bytes`;

/** The text; or the status of a refusal. */
async function readBody(request: IncomingMessage, { bodyBytes, bodyMs }: McpLimits): Promise<string | 413 | 408> {
  if (Number(request.headers['content-length'] ?? 0) > bodyBytes) return 413;
  const timer = setTimeout(() => request.destroy(), bodyMs);
  try {
    // Leaving the loop must not end the connection: the refusal is answered on it.
    const bytes = await gather(request.iterator({ destroyOnReturn: false }), bodyBytes);
    return bytes?.toString('utf8') ?? 413;
  } catch {
    return 408;
  } finally {
    clearTimeout(timer);
  }
}

function refuseIf(response: ServerResponse, id: Id, refusal: Refusal | undefined): void {
  if (refusal === undefined) return;
  if (refusal.retryMs !== undefined) response.setHeader('retry-after', Math.ceil(refusal.retryMs / 1000));
  refuse(response, refusal.status, refusal.text, codes.ended, id);
}

/** 308 keeps method and body. */
function redirect(response: ServerResponse, location: string): void {
  response.writeHead(308, { location, 'content-length': 0, connection: 'close' });
  response.end();
}

function refuse(response: ServerResponse, status: number, text: string, code: number = codes.invalid, id?: Id): void {
  answer(response, status, errorOf(id, code, text));
}

function answer(response: ServerResponse, status: number, body: Json): void {
  if (response.headersSent || response.destroyed) return;
  // Whatever still comes of the body is not read.
  if (status === 413 || status === 408) response.setHeader('connection', 'close');
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}
