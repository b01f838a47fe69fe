// Ids between many requests and one server: each request gets an id of ours towards the server, which is its progress token there
// too. So requests of different visitors never meet, whatever ids they choose, and one can cancel only its own.

import { type Id, isObject, type Json, type Message, notificationOf, objectAt, type Request } from './message.ts';

export interface Waiting<Party> {
  readonly party: Party;
  /** The id and the progress token that the client chose. */
  readonly id: Id;
  readonly progress: Id | undefined;
  readonly method: string;
  readonly take: (body: Json, isAnswer: boolean) => void;
}

interface Router<Party> {
  /** Registers a request. Undefined if the party waits for an answer under this id already. */
  readonly send: (
    request: Request,
    party: Party,
    take: Waiting<Party>['take'],
  ) => { readonly ours: number; readonly body: Json } | undefined;
  /** Gives a server's message to the request that it belongs to. False if it belongs to none. */
  readonly receive: (message: Message) => boolean;
  /** What tells the server that a request of this party is cancelled. The request gets no answer afterwards. */
  readonly cancel: (party: Party, id: Id, reason?: unknown) => Json | undefined;
  readonly forget: (ours: number) => Waiting<Party> | undefined;
  readonly of: (party: Party) => readonly Waiting<Party>[];
  readonly waiting: ReadonlyMap<number, Waiting<Party>>;
}

export const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

export function createRouter<Party>(): Router<Party> {
  const waiting = new Map<number, Waiting<Party>>();
  let last = 0;
  const of = (party: Party) => [...waiting.values()].filter((each) => each.party === party);

  function send(request: Request, party: Party, take: Waiting<Party>['take']) {
    const { id, method } = request;
    if (of(party).some((each) => each.id === id)) return undefined;
    last += 1;
    const token = objectAt(request.body, 'params', '_meta').progressToken;
    const progress = typeof token === 'string' || typeof token === 'number' ? token : undefined;
    waiting.set(last, { party, id, progress, method, take });
    const body = { ...request.body, id: last };
    return { ours: last, body: progress === undefined ? body : withMeta(body, { progressToken: last }) };
  }

  function forget(ours: number): Waiting<Party> | undefined {
    const found = waiting.get(ours);
    waiting.delete(ours);
    return found;
  }

  function receive(message: Message): boolean {
    if (message.kind === 'answer') {
      const found = typeof message.id === 'number' ? forget(message.id) : undefined;
      found?.take({ ...withSubscription(message.body, found.id, 'result'), id: found.id }, true);
      return true;
    }
    if (message.kind === 'request') return false;
    const { progressToken, _meta } = objectAt(message.body, 'params');
    const subscription = isObject(_meta) ? _meta[subscriptionKey] : undefined;
    const ours = message.method === 'notifications/progress' ? progressToken : subscription;
    const found = typeof ours === 'number' ? waiting.get(ours) : undefined;
    if (message.method === 'notifications/progress')
      found?.take(withParams(message.body, { progressToken: found.progress }), false);
    else if (subscription !== undefined) found?.take(withSubscription(message.body, found.id, 'params'), false);
    // A word about a request that has ended is for nobody.
    return message.method === 'notifications/progress' || subscription !== undefined;
  }

  function cancel(party: Party, id: Id, reason?: unknown): Json | undefined {
    for (const [ours, each] of waiting)
      if (each.party === party && each.id === id) {
        waiting.delete(ours);
        return notificationOf('notifications/cancelled', { requestId: ours, ...(typeof reason === 'string' ? { reason } : {}) });
      }
    return undefined;
  }

  return { send, receive, cancel, forget, of, waiting };
}

const withParams = (body: Json, change: Json): Json => ({ ...body, params: { ...objectAt(body, 'params'), ...change } });

const withMeta = (body: Json, change: Json): Json =>
  withParams(body, { _meta: { ...objectAt(body, 'params', '_meta'), ...change } });

/** Names the client's id where the server names ours. */
function withSubscription(body: Json, id: Id, place: 'params' | 'result'): Json {
  const meta = objectAt(body, place, '_meta');
  if (meta[subscriptionKey] === undefined) return body;
  return { ...body, [place]: { ...objectAt(body, place), _meta: { ...meta, [subscriptionKey]: id } } };
}
