// Live status for the dashboard: server-sent `tunnel` events of one project, one for each tunnel that moved.

import type { Tunnel } from '@underpass/rules/entity.ts';
import type { TunnelEvent } from '@underpass/rules/resource.ts';
import type { CallContext, Handlers } from '../api/call.ts';
import { Refusal } from '../api/refusal.ts';
import { findCaller } from '../auth/caller.ts';
import { findAccess } from '../project/access.ts';

// Moves within this are one event: a screen needs no more.
const gatherMs = 500;
// Comments keep proxies from closing a quiet stream; with each, the session and the role are looked at again.
const beatMs = 20_000;
// A browser has a handful of tabs; a script has no use for more.
const streamsPerUser = 20;

const toEvent = ({ name, status, connectedClients = 0, metrics }: Tunnel): TunnelEvent => ({
  name,
  status,
  connectedClients,
  ...(metrics === undefined ? {} : { metrics }),
});

const renderEvent = (event: TunnelEvent): string => `event: tunnel\ndata: ${JSON.stringify(event)}\n\n`;

type Context = CallContext<'streamEvents'>;

const isStillPermitted = async ({ deps, request, access }: Context): Promise<boolean> => {
  const caller = await findCaller(deps, request.headers, deps.clock());
  return caller !== null && (await findAccess(deps.store.db, caller, access.id)) !== undefined;
};

export interface EventStreams {
  readonly calls: Handlers<'streamEvents'>;
  /** Ends every stream, so that a server can stop. */
  close(): void;
}

type ReadMoved = (context: Context, ids: readonly string[]) => Promise<readonly Tunnel[]>;

export const createEventStreams = (readMoved: ReadMoved): EventStreams => {
  const endings = new Set<() => void>();
  const countByUser = new Map<string, number>();

  const count = (userId: string, change: 1 | -1): number => {
    const next = (countByUser.get(userId) ?? 0) + change;
    if (next <= 0) countByUser.delete(userId);
    else countByUser.set(userId, next);
    return next;
  };

  const open = (context: Context): ReadableStream<Uint8Array> => {
    const { deps, caller } = context;
    const encoder = new TextEncoder();
    const moved = new Set<string>();
    let end = () => {};
    return new ReadableStream({
      start: (controller) => {
        const write = (text: string) => controller.enqueue(encoder.encode(text));
        const flush = async () => {
          const ids = [...moved];
          moved.clear();
          const tunnels = ids.length === 0 ? [] : await readMoved(context, ids);
          if (endings.has(end)) for (const tunnel of tunnels) write(renderEvent(toEvent(tunnel)));
        };
        const beat = async () => {
          if (!(await isStillPermitted(context))) return end();
          // A reader that has stopped reading is let go of rather than kept in memory.
          if ((controller.desiredSize ?? 0) < -64) return end();
          if (endings.has(end)) write(': still here\n\n');
        };
        const orEnd = (work: () => Promise<void>) => () => void work().catch(() => end());
        const timers = [setInterval(orEnd(flush), gatherMs), setInterval(orEnd(beat), beatMs)];
        const stopListening = deps.feed.onMoved((ids) => {
          for (const id of ids) moved.add(id);
        });
        end = () => {
          if (!endings.delete(end)) return;
          for (const timer of timers) clearInterval(timer);
          stopListening();
          count(caller.userId, -1);
          controller.close();
        };
        endings.add(end);
        write(': live\n\n');
      },
      cancel: () => end(),
    });
  };

  const streamEvents = async (context: Context): Promise<Response> => {
    if (count(context.caller.userId, 1) > streamsPerUser) {
      count(context.caller.userId, -1);
      throw new Refusal('tooMany', 'Too many live views are open.', 60);
    }
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };
    return new Response(open(context), { headers });
  };

  return {
    calls: { streamEvents },
    close: () => {
      for (const end of [...endings]) end();
    },
  };
};
