// What `listen` takes, as an http.Server that gets its connections from the tunnel: a Node handler, a fetch-style handler, or a
// server that exists.

import { createServer, type IncomingMessage, Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ClientError } from '../process/error.ts';
import type { FetchHandler, Handler, NodeHandler } from './underpass.d.ts';

type OnError = (error: unknown) => void;
type Serve = (request: IncomingMessage, response: ServerResponse) => unknown;

/** `own`: made here, so that closing the tunnel closes it. */
export function serverOf(handler: Handler, onError: OnError): { readonly server: Server; readonly own: boolean } {
  if (handler instanceof Server) return { server: handler, own: false };
  const serve = serveOf(handler);
  const server = createServer((request, response) => {
    // A handler may throw at once, or its promise may reject.
    new Promise((resolve) => resolve(serve(request, response))).catch((error: unknown) => {
      onError(error);
      answerFailure(response);
    });
  });
  // Node checks the time limits of requests once a server listens.
  server.emit('listening');
  return { server, own: true };
}

/** A function with two parameters or more is a Node handler; Express and Connect have three. */
function serveOf(handler: Exclude<Handler, Server>): Serve {
  if (typeof handler === 'object' && typeof handler?.fetch === 'function') return serveFetch((request) => handler.fetch(request));
  if (typeof handler !== 'function')
    throw new ClientError('usage', 'listen() takes a request handler, an object with fetch, or an http.Server', {
      fix: 'Give (request, response) => …, (request) => new Response(…), or the result of http.createServer().',
    });
  return handler.length >= 2 ? (handler as NodeHandler) : serveFetch(handler as FetchHandler);
}

/** The visitor learns nothing of the error. */
function answerFailure(response: ServerResponse): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' });
  response.end('Internal Server Error\n');
}

function serveFetch(handle: FetchHandler): Serve {
  return async (incoming, outgoing) => {
    const left = new AbortController();
    outgoing.once('close', () => outgoing.writableFinished || left.abort());
    const request = requestOf(incoming, left.signal);
    if (request === null) return void outgoing.writeHead(400).end();
    await send(await handle(request), incoming, outgoing);
  };
}

/** Null if the Fetch standard has no such request: a method such as TRACE, or a Host that is no name. */
function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request | null {
  const { method = 'GET', headers: given, url = '/' } = incoming;
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  const scheme = given['x-forwarded-proto'] === 'http' ? 'http' : 'https';
  try {
    const place = new URL(url.startsWith('/') ? `${scheme}://${given.host}${url}` : url);
    const body = hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {};
    return new Request(place, { method, headers, signal, ...body } as RequestInit);
  } catch {
    return null;
  }
}

async function send(answer: Response, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const cookies = answer.headers.getSetCookie();
  for (const [name, value] of answer.headers) if (name !== 'set-cookie') outgoing.setHeader(name, value);
  if (cookies.length > 0) outgoing.setHeader('set-cookie', cookies);
  outgoing.writeHead(answer.status, answer.statusText || undefined);
  if (answer.body === null || incoming.method === 'HEAD') {
    await answer.body?.cancel();
    outgoing.end();
    return;
  }
  outgoing.flushHeaders();
  await pipeline(Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]), outgoing);
}
