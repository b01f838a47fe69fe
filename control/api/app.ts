// The Hono application: a route for every row of the table of calls, the site around them, one catch for all errors.

import { randomUUID } from 'node:crypto';
import type { Call } from '@underpass/rules/api/call.ts';
import { type CallName, calls } from '@underpass/rules/api/calls.ts';
import { errorHeader } from '@underpass/rules/api/refusal-code.ts';
import { Hono } from 'hono';
import type { Logger } from 'pino';
import { LimitReached } from '../platform/limit/limit-reached.ts';
import { StoreOutage } from '../platform/store/outage.ts';
import { isForeignKeyViolation } from '../platform/store/store.ts';
import type { Handlers } from '../request/caller/call.ts';
import { createAddressReader } from '../request/http/address.ts';
import { compressed, createFixedJson } from '../request/http/compress.ts';
import { loggedPath } from '../request/http/logged-path.ts';
import { answerMethod } from '../request/http/method.ts';
import { namedRefusals, Refusal } from '../request/http/refusal.ts';
import { type HeaderSettings, securityHeaders } from '../request/http/security-headers.ts';
import { type DispatchDeps, dispatch, readQuery } from './dispatch.ts';
import { methodsOf } from './methods.ts';
import type { ControlMetrics } from './metrics.ts';

/** What server/ knows about a request beyond the Request object. */
export interface Connection {
  readonly remoteAddress: string;
}

interface AppDeps extends DispatchDeps, HeaderSettings {
  readonly handlers: Handlers;
  readonly metrics: ControlMetrics;
  readonly openApi: object;
  readonly trustedProxies: readonly string[];
  readonly log: Logger;
  /** Adds the routes outside the call table: pages, downloads, the webhook. They come last and get the remaining paths. */
  readonly addOtherRoutes: (app: App) => void;
}

const outageText = 'The database does not answer at the moment. Tunnels carry on; please try again soon.';
const outageRetrySeconds = 5;

const plain = (text: string, status: number, headers: Record<string, string> = {}): Response =>
  new Response(text, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
  });

function refusalAnswer({ code, message, status, retryAfterSeconds }: Refusal): Response {
  const name = namedRefusals[code];
  return plain(message, status, {
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    ...(name === undefined ? {} : { [errorHeader]: name }),
  });
}

/** What says nothing about caches may be private (RFC 9111 5.2.2.5). */
function withHeaders(response: Response, headers: readonly (readonly [string, string])[], requestId: string): Response {
  const copy = new Response(response.body, response);
  // A page may be stricter.
  for (const [name, value] of headers) if (!copy.headers.has(name)) copy.headers.set(name, value);
  if (!copy.headers.has('cache-control')) copy.headers.set('cache-control', 'no-store');
  copy.headers.set('x-request-id', requestId);
  return copy;
}

/** Facts about one request, for the routes and the log line. */
interface Trace {
  readonly address: string;
  readonly requestId: string;
  call: CallName | 'site';
  /** Ids. */
  user?: string;
  project?: string;
}

export type App = Hono<{ Bindings: Trace }>;

function addCalls(app: App, deps: AppDeps): void {
  for (const name of Object.keys(calls) as CallName[]) {
    const call: Call = calls[name];
    app.on(call.method, call.path, async (c) => {
      c.env.call = name;
      const query = readQuery(new URL(c.req.url).searchParams, call);
      const incoming = { name, request: c.req.raw, segments: c.req.param(), query, address: c.env.address };
      const onKnown = (who: Pick<Trace, 'user' | 'project'>): void => void Object.assign(c.env, who);
      const answer = await dispatch(deps, deps.handlers, { ...incoming, onKnown });
      const response = call.compress ? await compressed(c.req.raw, answer) : answer;
      // For HEAD, Hono drops the body of GET without cancelling it: an event stream would stay open unread.
      if (c.req.raw.method === 'HEAD') await response.body?.cancel();
      return response;
    });
  }
  for (const path of ['/api/*', '/auth/*']) {
    app.all(path, (c) => {
      const methods = methodsOf(c.req.path);
      return methods.length === 0 ? plain('Page not found', 404) : answerMethod(c.req.raw, methods);
    });
  }
}

const goneText = 'Something that this change belongs to has just been deleted.';

function addErrors(app: App, log: Logger): void {
  app.onError((error, c) => {
    if (error instanceof Refusal) return refusalAnswer(error);
    if (error instanceof LimitReached) return refusalAnswer(new Refusal('tooMany', error.message, error.retryAfterSeconds));
    const { requestId } = c.env;
    if (error instanceof StoreOutage) {
      log.error({ err: error, requestId }, 'call failed: no database');
      return refusalAnswer(new Refusal('unavailable', outageText, outageRetrySeconds));
    }
    // The account, project or group that a new row belongs to was deleted while the call ran.
    if (isForeignKeyViolation(error)) return refusalAnswer(new Refusal('conflict', goneText));
    log.error({ err: error, requestId }, 'call failed');
    return plain(`Something went wrong. Please try again. (${requestId})`, 500);
  });
}

/** What load balancers and schedulers ask every few seconds, each of them. */
const healthPaths = new Set(['/healthz', '/readyz']);

/** Logs a health check at level debug unless its answer differs from the last one. */
function createRequestLog(log: Logger) {
  const lastHealth = new Map<string, number>();
  return (path: string, status: number, line: object): void => {
    const isNews = !healthPaths.has(path) || lastHealth.get(path) !== status;
    if (healthPaths.has(path)) lastHealth.set(path, status);
    log[isNews ? 'info' : 'debug'](line, 'request');
  };
}

export function createApp(deps: AppDeps) {
  const { log, metrics, openApi } = deps;
  const app: App = new Hono();
  const headers = securityHeaders(deps);
  const logRequest = createRequestLog(log);
  const readAddress = createAddressReader(deps.trustedProxies);
  addErrors(app, log);
  addCalls(app, deps);
  const answerOpenApi = createFixedJson(openApi);
  app.get('/openapi.json', (c) => answerOpenApi(c.req.raw));
  deps.addOtherRoutes(app);

  return async (request: Request, connection?: Connection): Promise<Response> => {
    const address = readAddress(connection?.remoteAddress ?? '', request.headers);
    const trace: Trace = { address, requestId: randomUUID(), call: 'site' };
    const started = performance.now();
    const response = await app.fetch(request, trace);
    const ms = performance.now() - started;
    const { requestId, call, user, project } = trace;
    metrics.observe(call, response.status, ms / 1000);
    const path = loggedPath(new URL(request.url).pathname);
    const facts = { requestId, call, method: request.method, path, status: response.status, ms: Math.round(ms) };
    logRequest(path, response.status, { ...facts, address, ...(user && { user }), ...(project && { project }) });
    return withHeaders(response, headers, requestId);
  };
}
