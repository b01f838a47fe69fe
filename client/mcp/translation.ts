// Requests of the stateless revision for a server with sessions, which this program has initialized: discovery, results, and what the
// server asks. A question of the server becomes a result that requires input; the client's retry brings the answer and goes on with
// the same call (MCP 2026-07-28, Multi Round-Trip Requests).

import { randomBytes } from 'node:crypto';
import { sessionVersions, statelessVersion } from './core/check.ts';
import {
  codes,
  errorOf,
  type Id,
  isObject,
  type Json,
  notificationOf,
  objectAt,
  type Request,
  resultOf,
  type Unasked,
} from './core/message.ts';
import { subscriptionKey } from './core/router.ts';
import type { McpLimits } from './limits.ts';
import { type Opened, refuseMethod, type Take } from './prepared.ts';
import type { Party, RunningServer } from './running-server.ts';

export interface Translation {
  /** Returns what cancels the request. */
  readonly request: (request: Request, party: Party, take: Take) => () => void;
  /** Takes what the server sends without a request of the client. False if nobody waits for it. */
  readonly take: (message: Unasked) => boolean;
  readonly isBusy: () => boolean;
  /** The server has ended. */
  readonly end: () => void;
}

interface Call {
  readonly method: string;
  readonly name: unknown;
  readonly party: Party;
  /** The id under which the server's answer comes. */
  readonly firstId: Id;
  /** The client's request of now. Its id and progress token replace those of the first. */
  request: Request;
  /** Missing while the client looks for the answers. */
  take: Take | undefined;
  state: string;
  readonly questions: Map<string, Unasked & { readonly kind: 'request' }>;
}

interface Listener {
  readonly id: Id;
  readonly party: Party;
  readonly methods: readonly string[];
  readonly take: Take;
}

const infoKey = 'io.modelcontextprotocol/serverInfo';
const uncached = { ttlMs: 0, cacheScope: 'private' };
const cachedMethods: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);
/** Methods of older revisions alone. */
const goneMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);
const mayAsk: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);
/** What a server may ask, and the capability of a client that answers. */
const questionCapabilities: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};
const changes: Readonly<Record<string, string>> = {
  toolsListChanged: 'tools',
  promptsListChanged: 'prompts',
  resourcesListChanged: 'resources',
};
const stateBytes = 24;
/** Capabilities are part of the key of a visitor's server. */
const maxCapabilityChars = 1_000;

/** The capabilities of a request's client that matter to a server, to initialize it with. */
export function clientCapabilitiesOf(request: Request): Json {
  const given = objectAt(request.body, 'params', '_meta', 'io.modelcontextprotocol/clientCapabilities');
  const kept = Object.values(questionCapabilities).flatMap((name) =>
    isObject(given[name]) ? [[name, given[name]] as const] : [],
  );
  const capabilities = Object.fromEntries(kept);
  return JSON.stringify(capabilities).length > maxCapabilityChars ? {} : capabilities;
}

export function createTranslation(server: RunningServer, opened: Opened, capabilities: Json, limits: McpLimits): Translation {
  const calls = new Set<Call>();
  const listeners = new Set<Listener>();

  function request(asked: Request, party: Party, take: Take): () => void {
    const { id, method, body } = asked;
    const state = objectAt(body, 'params').requestState;
    if (method === 'server/discover') take(resultOf(id, discoverOf(opened)), true);
    else if (goneMethods.has(method)) refuseMethod(asked, take);
    else if (method === 'subscriptions/listen') return listen(asked, party, take);
    else if (typeof state === 'string') return goOn(asked, state, take);
    else return start(asked, party, take);
    return () => {};
  }

  function start(asked: Request, party: Party, take: Take): () => void {
    const { id, method, body } = asked;
    const { name, uri } = objectAt(body, 'params');
    const call: Call = { method, name: name ?? uri, party, firstId: id, request: asked, take, state: '', questions: new Map() };
    calls.add(call);
    server.request(asked, party, (answer, isAnswer) => {
      if (isAnswer) calls.delete(call);
      call.take?.(isAnswer ? completed(call.request, opened, answer) : progressed(call.request, answer), isAnswer);
    });
    return () => cancel(call);
  }

  function cancel(call: Call): void {
    if (calls.delete(call)) server.cancel(call.party, call.firstId);
  }

  function goOn(asked: Request, state: string, take: Take): () => void {
    const { name, uri, inputResponses } = objectAt(asked.body, 'params');
    const call = [...calls].find((each) => each.state === state && each.take === undefined);
    if (call?.method !== asked.method || call.name !== (name ?? uri)) {
      take(errorOf(asked.id, codes.invalidParams, 'This requestState is not known: send the request anew'), true);
      return () => {};
    }
    call.request = asked;
    call.take = take;
    const given = isObject(inputResponses) ? inputResponses : {};
    for (const [key, { id }] of call.questions) {
      const answer = Object.hasOwn(given, key) ? given[key] : undefined;
      if (!isObject(answer)) continue;
      call.questions.delete(key);
      server.send(resultOf(id, answer));
    }
    if (call.questions.size > 0) requireInput(call);
    return () => call.request === asked && call.take !== undefined && cancel(call);
  }

  /** Ends the client's request with the questions. The call to the server waits for the retry, as long as for an answer. */
  function requireInput(call: Call): void {
    const { take, request: asked } = call;
    call.take = undefined;
    call.state = randomBytes(stateBytes).toString('base64url');
    const inputRequests = Object.fromEntries(
      [...call.questions].map(([key, { method, body }]) => [key, { method, params: objectAt(body, 'params') }]),
    );
    const meta = { [infoKey]: opened.result.serverInfo };
    take?.(resultOf(asked.id, { resultType: 'input_required', inputRequests, requestState: call.state, _meta: meta }), true);
  }

  /** A question belongs to the newest call: a server with sessions does not say to which. */
  function takeQuestion(question: Unasked & { readonly kind: 'request' }): boolean {
    const capability = Object.hasOwn(questionCapabilities, question.method) ? questionCapabilities[question.method]! : '';
    const call = [...calls].filter(({ method }) => mayAsk.has(method)).at(-1);
    if (!Object.hasOwn(capabilities, capability) || call === undefined || call.questions.size >= limits.requests) return false;
    call.questions.set(`q${call.questions.size + 1}-${randomBytes(4).toString('hex')}`, question);
    if (call.take !== undefined) requireInput(call);
    return true;
  }

  function listen({ id, body }: Request, party: Party, take: Take): () => void {
    const wanted = objectAt(body, 'params', 'notifications');
    const offered = objectAt(opened.result, 'capabilities');
    const agreed = Object.entries(changes).filter(
      ([name, kind]) => wanted[name] === true && objectAt(offered, kind).listChanged === true,
    );
    if ([...listeners].filter((each) => each.party.id === party.id).length >= limits.requests) {
      take(errorOf(id, codes.ended, 'Too many subscriptions'), true);
      return () => {};
    }
    const methods = agreed.map(([, kind]) => `notifications/${kind}/list_changed`);
    const listener = { id, party, methods, take };
    listeners.add(listener);
    const notifications = Object.fromEntries(agreed.map(([name]) => [name, true]));
    take(notificationOf('notifications/subscriptions/acknowledged', { _meta: { [subscriptionKey]: id }, notifications }), false);
    return () => void listeners.delete(listener);
  }

  return {
    request,
    take(message) {
      if (message.kind === 'request') return takeQuestion(message);
      for (const { id, methods, take } of listeners)
        if (methods.includes(message.method)) take(notificationOf(message.method, { _meta: { [subscriptionKey]: id } }), false);
      return true;
    },
    isBusy: () => calls.size + listeners.size > 0,
    end() {
      for (const { id, take } of listeners)
        take(resultOf(id, { resultType: 'complete', _meta: { [subscriptionKey]: id } }), true);
      listeners.clear();
    },
  };
}

function discoverOf({ result }: Opened): Json {
  const { serverInfo, instructions } = result;
  const offered = objectAt(result, 'capabilities');
  const names = ['tools', 'prompts', 'resources', 'completions'].filter((name) => isObject(offered[name]));
  const capabilities = Object.fromEntries(
    names.map((name) => [name, objectAt(offered, name).listChanged === true ? { listChanged: true } : {}]),
  );
  return {
    // A client that prefers sessions may open one: then nothing is translated.
    ...{ resultType: 'complete', supportedVersions: [statelessVersion, ...sessionVersions], capabilities },
    ...(instructions === undefined ? {} : { instructions }),
    ...{ _meta: { [infoKey]: serverInfo }, ...uncached },
  };
}

/** Adds what results of 2026-07-28 must have and older ones lack. */
function completed({ id, method }: Request, opened: Opened, body: Json): Json {
  if (!isObject(body.result)) return { ...body, id };
  const meta = { [infoKey]: opened.result.serverInfo, ...objectAt(body, 'result', '_meta') };
  const cache = cachedMethods.has(method) ? uncached : {};
  return { ...body, id, result: { resultType: 'complete', ...cache, ...body.result, _meta: meta } };
}

function progressed(request: Request, body: Json): Json {
  const { progressToken } = objectAt(request.body, 'params', '_meta');
  return { ...body, params: { ...objectAt(body, 'params'), progressToken } };
}
