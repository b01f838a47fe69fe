// Gives the pages of a project the live state of its tunnels.
import type { Tunnel } from '@underpass/rules/entity.ts';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { askedAt } from '../api/tunnels.ts';
import { followTunnels } from './live-feed.ts';
import { applyLive, type LiveTunnel } from './live-tunnel.ts';

interface LiveEvent {
  readonly tunnel: LiveTunnel;
  /** performance.now() of its arrival. */
  readonly at: number;
}

type LiveTunnels = ReadonlyMap<string, LiveEvent>;

const LiveContext = createContext<LiveTunnels>(new Map());

/** Events that arrive together are shown together. */
const BATCH_MS = 250;

export interface LiveTunnelsProviderProps {
  readonly projectId: string;
  readonly onCaughtUp: () => void;
  readonly children: ReactNode;
}

/** Give it the project as key: a new project begins with nothing known. */
export function LiveTunnelsProvider({ projectId, onCaughtUp, children }: LiveTunnelsProviderProps) {
  const [known, setKnown] = useState<LiveTunnels>(new Map());
  useEffect(() => {
    const batch = createBatch(setKnown);
    const stop = followTunnels(projectId, { onTunnel: batch.add, onCaughtUp });
    return () => {
      stop();
      batch.close();
    };
  }, [projectId, onCaughtUp]);
  return <LiveContext value={known}>{children}</LiveContext>;
}

function createBatch(publish: (change: (known: LiveTunnels) => LiveTunnels) => void) {
  let waiting = new Map<string, LiveEvent>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    const arrived = waiting;
    waiting = new Map();
    timer = undefined;
    publish((known) => new Map([...known, ...arrived]));
  };
  return {
    add: (tunnel: LiveTunnel) => {
      waiting.set(tunnel.name, { tunnel, at: performance.now() });
      timer ??= setTimeout(flush, BATCH_MS);
    },
    close: () => clearTimeout(timer),
  };
}

/** The loaded tunnels with what happened to them since. */
export function useLiveTunnels(tunnels: readonly Tunnel[]): readonly Tunnel[] {
  const known = useContext(LiveContext);
  return useMemo(() => tunnels.map((tunnel) => withLive(tunnel, known.get(tunnel.name))), [tunnels, known]);
}

export function useLiveTunnel(tunnel: Tunnel): Tunnel {
  const known = useContext(LiveContext);
  return withLive(tunnel, known.get(tunnel.name));
}

const applied = new WeakMap<Tunnel, { readonly event: LiveEvent; readonly result: Tunnel }>();

/**
 * An event from before the question says nothing; one that came while the answer was on its way may be the newer of the two, and
 * another follows where it is not. The same event gives the same object, so that its row is not drawn again.
 */
function withLive(tunnel: Tunnel, event: LiveEvent | undefined): Tunnel {
  if (!event || event.at < (askedAt.get(tunnel) ?? 0)) return tunnel;
  const last = applied.get(tunnel);
  if (last?.event === event) return last.result;
  const result = applyLive(tunnel, event.tunnel);
  applied.set(tunnel, { event, result });
  return result;
}
