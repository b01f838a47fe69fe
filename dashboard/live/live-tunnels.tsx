// Provides the live state of a project's tunnels to its pages.
import type { Role } from '@underpass/rules/entity/entity.ts';
import type { MembershipNews } from '@underpass/rules/entity/resource.ts';
import { decideDisplayStatus } from '@underpass/rules/tunnel/tunnel-status.ts';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { useRevalidator } from 'react-router';
import { askedAt } from '../api/tunnels.ts';
import { reloadEveryMs, useReload } from '../api/use-again.ts';
import { followTunnels } from './live-feed.ts';
import { applyLive, type FollowedTunnel, type LiveTunnel } from './live-tunnel.ts';

interface LiveEvent {
  readonly tunnel: LiveTunnel;
  /** performance.now() of its arrival. */
  readonly at: number;
}

type LiveTunnels = ReadonlyMap<string, LiveEvent>;

const LiveContext = createContext<LiveTunnels>(new Map());
/** Counts what may change the rows of a list: a tunnel that was made or deleted, or has another status. */
const ChangesContext = createContext(0);

/** Events within this time render together. */
const batchMs = 250;

interface LiveTunnelsProviderProps {
  readonly projectId: string;
  readonly role: Role;
  /** The tunnel whose page this is. */
  readonly tunnel: string | undefined;
  readonly onCaughtUp: () => void;
  readonly onMembership: (news: MembershipNews) => void;
  readonly children: ReactNode;
}

/** Give it the project id as React key, so that another project starts empty. */
export function LiveTunnelsProvider({ projectId, role, tunnel, onCaughtUp, onMembership, children }: LiveTunnelsProviderProps) {
  const [known, setKnown] = useState<LiveTunnels>(new Map());
  const [changes, setChanges] = useState(0);
  const { revalidate } = useRevalidator();
  useEffect(() => {
    const count = () => setChanges((before) => before + 1);
    const batch = createBatch(setKnown, count);
    let reload: ReturnType<typeof setTimeout> | undefined;
    const onReload = () => {
      reload = undefined;
      void revalidate();
    };
    const onListChanged = () => {
      count();
      // Somebody may have deleted the tunnel of this page. After a deletion from here, the page is left before this time is over.
      if (tunnel !== undefined) reload ??= setTimeout(onReload, reloadEveryMs);
    };
    const stop = followTunnels(
      { project: projectId, role, tunnel },
      { onTunnel: batch.add, onListChanged, onCaughtUp, onMembership },
    );
    return () => {
      stop();
      batch.close();
      clearTimeout(reload);
    };
  }, [projectId, role, tunnel, onCaughtUp, onMembership, revalidate]);
  return (
    <LiveContext value={known}>
      <ChangesContext value={changes}>{children}</ChangesContext>
    </LiveContext>
  );
}

function createBatch(publish: (change: (known: LiveTunnels) => LiveTunnels) => void, onStatusChanged: () => void) {
  let waiting = new Map<string, LiveEvent>();
  const states = new Map<string, string>();
  let isChanged = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    const arrived = waiting;
    waiting = new Map();
    timer = undefined;
    publish((known) => new Map([...known, ...arrived]));
    if (isChanged) onStatusChanged();
    isChanged = false;
  };
  return {
    add: (tunnel: LiveTunnel) => {
      waiting.set(tunnel.name, { tunnel, at: performance.now() });
      const state = `${decideDisplayStatus(tunnel)} ${tunnel.condition} ${tunnel.error}`;
      isChanged ||= (states.get(tunnel.name) ?? state) !== state;
      states.set(tunnel.name, state);
      timer ??= setTimeout(flush, batchMs);
    },
    close: () => clearTimeout(timer),
  };
}

/** The loaded tunnels with later events applied. */
export function useLiveTunnels<T extends FollowedTunnel>(tunnels: readonly T[]): readonly T[] {
  const known = useContext(LiveContext);
  return useMemo(() => tunnels.map((tunnel) => withLive(tunnel, known.get(tunnel.name))), [tunnels, known]);
}

export function useLiveTunnel<T extends FollowedTunnel>(tunnel: T): T {
  const known = useContext(LiveContext);
  return withLive(tunnel, known.get(tunnel.name));
}

/** Calls `reload` when other rows may belong to a list, or other counts. */
export function useListChanges(reload: () => void): void {
  useReload(useContext(ChangesContext), reload);
}

/** Calls `reload` when the feed counts other tunnels or clients than were loaded. It goes on counting a deleted tunnel. */
export function useCountChanges(tunnels: number, clients: number, reload: () => void): void {
  const known = useContext(LiveContext);
  const loaded = `${tunnels} ${clients}`;
  const counted = useMemo(
    () => `${known.size} ${[...known.values()].reduce((sum, { tunnel }) => sum + (tunnel.connectedClients ?? 0), 0)}`,
    [known],
  );
  useReload(known.size === 0 ? loaded : counted, reload, loaded);
}

const applied = new WeakMap<FollowedTunnel, { readonly event: LiveEvent; readonly result: FollowedTunnel }>();

/**
 * Ignores an event from before the request for this tunnel. An event that arrived during the request may be newer than the answer;
 * if it is older, a later event corrects it. The same event returns the same object, so that its row does not render again.
 */
function withLive<T extends FollowedTunnel>(tunnel: T, event: LiveEvent | undefined): T {
  if (!event || event.at < (askedAt.get(tunnel) ?? 0)) return tunnel;
  const last = applied.get(tunnel);
  if (last?.event === event) return last.result as T;
  const result = applyLive(tunnel, event.tunnel);
  applied.set(tunnel, { event, result });
  return result;
}
