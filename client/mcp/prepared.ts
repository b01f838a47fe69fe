// A server that this program itself has opened, for requests of many clients: those without a session, and with --shared all.

import { type Era, sessionVersions, statelessVersion, versionKey } from './core/check.ts';
import { codes, errorOf, isObject, type Json, notificationOf, objectAt, type Request, resultOf } from './core/message.ts';
import type { Waiting } from './core/router.ts';
import type { McpLimits } from './limits.ts';
import type { Party, RunningServer } from './running-server.ts';

export type Take = Waiting<Party>['take'];

export interface Opened {
  readonly era: Era;
  /** The result of `initialize` or `server/discover`. */
  readonly result: Json;
}

/** The bridge itself, as a client of the server. */
const clientInfo = { name: 'underpass', version: '1' };

/** Asks in the stateless revision first, unless the era is known. Undefined if the server answers neither. */
export async function openServer(
  server: RunningServer,
  limits: McpLimits,
  capabilities: Json,
  era?: Era,
): Promise<Opened | undefined> {
  if (era !== 'session') {
    const meta = { [versionKey]: statelessVersion, 'io.modelcontextprotocol/clientInfo': clientInfo };
    const params = { _meta: { ...meta, 'io.modelcontextprotocol/clientCapabilities': {} } };
    const answer = await ask(server, 'server/discover', params, era === undefined ? limits.probeMs : limits.startMs);
    if (isObject(answer?.result)) return { era: 'stateless', result: answer.result };
    if (era === 'stateless') return undefined;
  }
  const params = { protocolVersion: sessionVersions[0], capabilities, clientInfo };
  const answer = await ask(server, 'initialize', params, limits.startMs);
  if (!isObject(answer?.result)) return undefined;
  server.send(notificationOf('notifications/initialized', {}));
  return { era: 'session', result: answer.result };
}

/** Undefined if no answer comes in time. */
function ask(server: RunningServer, method: string, params: Json, waitMs: number): Promise<Json | undefined> {
  const party = { id: 'underpass' };
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.leave(party);
      resolve(undefined);
    }, waitMs);
    const body = { jsonrpc: '2.0', id: 0, method, params };
    server.request({ kind: 'request', id: 0, method, body }, party, (answer, isAnswer) => {
      if (!isAnswer) return;
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

/** What belongs to one client, and so to no client of a shared server. */
const ownMethods: ReadonlySet<string> = new Set([
  'initialize',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

/** The answer to `initialize` of a session that shares an initialized server: without what belongs to one client. */
export function sharedInitialize(request: Request, { result }: Opened): Json {
  const { logging: _, resources, ...capabilities } = objectAt(result, 'capabilities');
  const shared = isObject(resources) ? { ...capabilities, resources: { ...resources, subscribe: false } } : capabilities;
  return resultOf(request.id, { ...result, capabilities: shared });
}

/** Sends a session's request to a server that it shares. */
export function requestShared(server: RunningServer, request: Request, party: Party, take: Take): void {
  if (ownMethods.has(request.method)) return void refuseMethod(request, take);
  server.request(request, party, take);
}

export const refuseMethod = ({ id, method }: Request, take: Take): void =>
  take(errorOf(id, codes.unknownMethod, `Method not found: ${method}`), true);

/**
 * Removes `x-mcp-header` from tools: clients then send no `Mcp-Param-` headers, which nobody behind this program could compare with
 * the body.
 */
export function takeTools({ method }: Request, take: Take): Take {
  if (method !== 'tools/list') return take;
  return (body, isAnswer) => {
    const { tools } = objectAt(body, 'result');
    const change = Array.isArray(tools) ? { result: { ...objectAt(body, 'result'), tools: tools.map(withoutHeaders) } } : {};
    take({ ...body, ...change }, isAnswer);
  };
}

function withoutHeaders(tool: unknown): unknown {
  return isObject(tool) && 'inputSchema' in tool ? { ...tool, inputSchema: plainSchema(tool.inputSchema) } : tool;
}

/** A property of this name has a schema as its value; the annotation is a text. */
function plainSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainSchema);
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([name, value]) => name !== 'x-mcp-header' || typeof value !== 'string');
  return Object.fromEntries(kept.map(([name, value]) => [name, plainSchema(value)]));
}
