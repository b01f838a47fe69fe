// Live status for the dashboard: server-sent `tunnel` events of one project. First one for each tunnel, then one for each change.

import type { Tunnel } from '@underpass/rules/entity.ts';
import type { TunnelEvent } from '@underpass/rules/resource.ts';
import { credentialOf, userShare } from '../access/allowance.ts';
import type { CallContext, Handlers } from '../access/call.ts';
import type { Caller } from '../access/caller.ts';
import { findCaller, type IdentifyDeps } from '../access/identify.ts';
import { isClosed } from '../access/passkey-rule.ts';
import { findAccess } from '../access/project-access.ts';
import { hearNarrowed } from '../bus/access.ts';
import type { Bus } from '../bus/bus.ts';
import type { FeedPort } from '../feed/port.ts';
import { Refusal } from '../http/refusal.ts';
import type { Store } from '../store/store.ts';
import { LiveStream } from './live-stream.ts';
import { listMoved, listTunnels, type TunnelReadDeps } from './tunnels.ts';

// A browser has a handful of tabs open; a script does not need more.
const streamsPerCredential = 20;
/** Of all sessions of a user, and as many of all tokens. */
const streamsPerUser = 40;

const toEvent = ({ name, status, connectedClients = 0, metrics }: Tunnel): TunnelEvent => ({
  name,
  status,
  connectedClients,
  ...(metrics === undefined ? {} : { metrics }),
});

const renderEvent = (tunnel: Tunnel): string => `event: tunnel\ndata: ${JSON.stringify(toEvent(tunnel))}\n\n`;
const renderEvents = (tunnels: readonly Tunnel[]): string => tunnels.map(renderEvent).join('');

export interface EventDeps extends TunnelReadDeps, IdentifyDeps {
  readonly store: Store;
  readonly feed: FeedPort;
  readonly bus: Bus;
  readonly clock: () => number;
}

type Context = CallContext<'streamEvents'>;

const isStillPermitted = async (deps: EventDeps, { request, access }: Context): Promise<boolean> => {
  const caller = await findCaller(deps, request.headers, deps.clock());
  const now = caller && (await findAccess(deps.store.db, caller, access.id));
  return !!caller && !!now && !isClosed(now, caller);
};

const tooMany = 'Too many live views are open.';

interface OpenStream {
  readonly end: () => void;
  readonly check: () => void;
  readonly projectId: string;
  readonly caller: Caller;
}

/** Counts as takeAllowance does: by credential, then by user, sessions and tokens apart. */
const refuseTooMany = (own: Iterable<OpenStream>, caller: Caller): void => {
  const ofShare = [...own].filter((stream) => userShare(stream.caller) === userShare(caller));
  const ofCredential = ofShare.filter((stream) => credentialOf(stream.caller) === credentialOf(caller));
  if (ofCredential.length >= streamsPerCredential || ofShare.length >= streamsPerUser) throw new Refusal('tooMany', tooMany, 60);
};

export interface EventStreams {
  readonly calls: Handlers<'streamEvents'>;
  /** Ends every stream, so that the server can stop. */
  close(): void;
}

export const createEventStreams = (deps: EventDeps): EventStreams => {
  /** By user. */
  const open = new Map<string, Set<OpenStream>>();
  const all = (): OpenStream[] => [...open.values()].flatMap((own) => [...own]);
  let isClosed = false;
  const forget = (userId: string, stream: OpenStream): void => {
    const own = open.get(userId);
    own?.delete(stream);
    if (own?.size === 0) open.delete(userId);
  };
  const stopListening = hearNarrowed(deps.bus, (id) => {
    const concerned = [...(open.get(id) ?? []), ...all().filter(({ projectId }) => projectId === id)];
    for (const { check } of concerned) check();
  });

  const streamEvents = async (context: Context): Promise<Response> => {
    const { caller, access } = context;
    if (isClosed) throw new Refusal('unavailable', 'The server is stopping.', 5);
    const own = open.get(caller.userId) ?? new Set();
    refuseTooMany(own, caller);
    const kept: OpenStream = { end: () => stream.end(), check: () => stream.check(), projectId: access.id, caller };
    const stream = new LiveStream({
      listen: (listener) => deps.feed.onMoved(listener),
      renderAll: async () => renderEvents(await listTunnels(deps, access, true)),
      render: async (ids) => renderEvents(await listMoved(deps, access, ids)),
      isStillPermitted: () => isStillPermitted(deps, context),
      onEnd: () => forget(caller.userId, kept),
    });
    open.set(caller.userId, own.add(kept));
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };
    return new Response(stream.body, { headers });
  };

  return {
    calls: { streamEvents },
    close: () => {
      isClosed = true;
      stopListening();
      for (const { end } of all()) end();
    },
  };
};
