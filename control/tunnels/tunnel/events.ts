// Live status for the dashboard: server-sent `tunnel` events of one project. First one for each tunnel, then one for each change;
// a `list` event when tunnels were made or deleted, and a `membership` event when the reader's role changes or ends. A brief stream begins with one event for all tunnels.

import type { Role } from '@underpass/rules/entity/entity.ts';
import type { MembershipNews, TunnelGroup } from '@underpass/rules/entity/resource.ts';
import { parseRole } from '@underpass/rules/people/permission.ts';
import type { FeedPort } from '../../edges/feed/port.ts';
import type { Bus } from '../../platform/bus/bus.ts';
import { hearNarrowed } from '../../platform/bus/narrowed-rights.ts';
import type { Store } from '../../platform/store/store.ts';
import { credentialOf, userShare } from '../../request/caller/allowance.ts';
import type { CallContext, Handlers } from '../../request/caller/call.ts';
import type { Caller } from '../../request/caller/caller.ts';
import { findCaller, type IdentifyDeps } from '../../request/caller/identify.ts';
import { findMembership } from '../../request/caller/membership.ts';
import { isClosed } from '../../request/caller/passkey-rule.ts';
import { parseFlag } from '../../request/http/flag.ts';
import { orInvalid, Refusal } from '../../request/http/refusal.ts';
import { readLive } from './list.ts';
import { type LiveSource, LiveStream, type Right } from './live-stream.ts';
import type { TunnelReadDeps } from './tunnels.ts';

// A browser has a handful of tabs open; a script does not need more.
const streamsPerCredential = 20;
/** Streams of all sessions of a user, and as many of all tokens. */
const streamsPerUser = 40;

type Live = Awaited<ReturnType<typeof readLive>>;

const renderEvents = (tunnels: Live): string =>
  tunnels.map(({ id: _, ...event }) => `event: tunnel\ndata: ${JSON.stringify(event)}\n\n`).join('');

const stateOf = ({ status, connectedClients, condition, error }: Live[number]): string =>
  `${status} ${connectedClients} ${condition} ${error}`;

/** An event for each of thousands of tunnels would keep a page busy for a third of a second. */
function renderGroups(tunnels: Live): string {
  const groups = [...Map.groupBy(tunnels, stateOf).values()].map((group): TunnelGroup => {
    const { status, connectedClients, condition } = group[0]!;
    return { status, connectedClients, ...(condition === undefined ? {} : { condition }), names: group.map(({ name }) => name) };
  });
  return `event: tunnels\ndata: ${JSON.stringify(groups)}\n\n`;
}

/** Tunnels were made or deleted: a list that is shown is out of date. */
const listEvent = 'event: list\ndata: {}\n\n';

function createLiveView(
  deps: TunnelReadDeps,
  { project: projectId, tunnel, ...query }: Context['query'],
): Pick<LiveSource, 'renderAll' | 'render'> {
  const brief = parseFlag('Brief', query.brief);
  /** The state of each tunnel, by its id. */
  const known = new Map<string, string>();
  const isTold = (each: Live[number]): boolean => !brief || each.name === tunnel || known.get(each.id) !== stateOf(each);
  const readIds = async () => {
    const rows = await deps.store.db.selectFrom('tunnels').select('id').where('project_id', '=', projectId).execute();
    return new Set(rows.map(({ id }) => id));
  };
  return {
    renderAll: async () => {
      const all = await readLive(deps, projectId);
      for (const each of all) known.set(each.id, stateOf(each));
      return brief ? renderGroups(all) + renderEvents(all.filter(({ name }) => name === tunnel)) : renderEvents(all);
    },
    render: async (moved) => {
      const own = await readIds();
      const ids = moved.filter((id) => own.has(id));
      const live = ids.length === 0 ? [] : await readLive(deps, projectId, ids);
      const text = renderEvents(live.filter(isTold));
      const isListChanged = moved.some((id) => own.has(id) !== known.has(id));
      for (const id of moved) known.delete(id);
      for (const each of live) known.set(each.id, stateOf(each));
      return isListChanged ? text + listEvent : text;
    },
  };
}

interface EventDeps extends TunnelReadDeps, IdentifyDeps {
  readonly store: Store;
  readonly feed: FeedPort;
  readonly bus: Bus;
  readonly clock: () => number;
}

type Context = CallContext<'streamEvents'>;

const renderMembership = (is: MembershipNews): string => `event: membership\ndata: ${JSON.stringify({ is })}\n\n`;

async function existsProject({ store: { db } }: EventDeps, id: string): Promise<boolean> {
  return (await db.selectFrom('projects').select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
}

/** The role that the reader's page shows. */
const shownRole = ({ query, membership }: Context): Role =>
  query.role === undefined ? membership.role : orInvalid(parseRole(query.role));

/** Tells the reader each change of their role, and why the stream ends if it is the project that has gone. */
function createRight(deps: EventDeps, { request, membership }: Context, shown: Role): () => Promise<Right> {
  let role = shown;
  return async () => {
    const caller = await findCaller(deps, request.headers, deps.clock());
    if (!caller) return { isPermitted: false, event: '' };
    const now = await findMembership(deps.store.db, caller, membership.id);
    if (!now) {
      const event = renderMembership((await existsProject(deps, membership.id)) ? 'removed' : 'deleted');
      return { isPermitted: false, event };
    }
    const isPermitted = !isClosed(now, caller);
    const isChanged = !isPermitted || now.role !== role;
    role = now.role;
    return { isPermitted, event: isChanged ? renderMembership('changed') : '' };
  };
}

const tooMany = 'Too many live views are open.';

interface OpenStream {
  readonly end: () => void;
  readonly check: () => void;
  readonly projectId: string;
  readonly caller: Caller;
}

/** Counts as takeAllowance does: by credential, then by user, sessions and tokens apart. */
function refuseTooMany(own: Iterable<OpenStream>, caller: Caller): void {
  const ofShare = [...own].filter((stream) => userShare(stream.caller) === userShare(caller));
  const ofCredential = ofShare.filter((stream) => credentialOf(stream.caller) === credentialOf(caller));
  if (ofCredential.length >= streamsPerCredential || ofShare.length >= streamsPerUser) throw new Refusal('tooMany', tooMany, 60);
}

export interface EventStreams {
  readonly calls: Handlers<'streamEvents'>;
  /** Ends every stream, so that the server can stop. */
  close(): void;
}

export function createEventStreams(deps: EventDeps): EventStreams {
  /** Streams by user. */
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
    const { caller, membership } = context;
    if (isClosed) throw new Refusal('unavailable', 'The server is stopping.', 5);
    const shown = shownRole(context);
    const own = open.get(caller.userId) ?? new Set();
    refuseTooMany(own, caller);
    const kept: OpenStream = { end: () => stream.end(), check: () => stream.check(), projectId: membership.id, caller };
    const stream = new LiveStream({
      listen: (listener) => deps.feed.onMoved(listener),
      ...createLiveView(deps, context.query),
      readRight: createRight(deps, context, shown),
      onEnd: () => forget(caller.userId, kept),
    });
    open.set(caller.userId, own.add(kept));
    if (shown !== membership.role) stream.check();
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
}
