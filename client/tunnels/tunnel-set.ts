// The tunnels that this process carries. Applying a new configuration restarts only the tunnels that changed; the others keep
// their connections.
import type { Closings } from '@underpass/runtime/memory-reclaim.ts';
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import type { TunnelView } from '../terminal/live-status.ts';

/** One running tunnel; running-tunnel.ts starts the real one. */
export interface RunningTunnel {
  readonly view: () => TunnelView;
  readonly streams: () => Closings;
  /** Resolves when the last stream has ended or the drain timeout is over. */
  readonly drain: () => Promise<void>;
  readonly close: () => void;
}

type StartTunnel = (tunnel: LoadedTunnel) => RunningTunnel;

interface TunnelSetChange {
  readonly started: readonly string[];
  readonly stopped: readonly string[];
  readonly kept: readonly string[];
}

export interface TunnelSet {
  readonly apply: (tunnels: readonly LoadedTunnel[]) => TunnelSetChange;
  readonly views: () => readonly TunnelView[];
  /** The streams of the tunnels that `views` shows. */
  readonly streams: () => Closings;
  /** Drains all tunnels, including those that earlier changes already drain. */
  readonly drain: () => Promise<void>;
  readonly close: () => void;
}

interface Member {
  readonly key: string;
  readonly name: string;
  readonly running: RunningTunnel;
}

export function createTunnelSet(start: StartTunnel): TunnelSet {
  let members: readonly Member[] = [];
  const draining = new Map<RunningTunnel, Promise<void>>();

  function drain({ running }: Member): void {
    draining.set(
      running,
      running.drain().finally(() => draining.delete(running)),
    );
  }

  function apply(tunnels: readonly LoadedTunnel[]): TunnelSetChange {
    const { next, fresh, gone } = startNext(start, members, tunnels);
    members = next;
    // The old tunnels drain after the new ones have started, so that visitors always have one.
    for (const member of gone) drain(member);
    const started = namesOf(fresh);
    return {
      started,
      kept: namesOf(next.filter((member) => !fresh.includes(member))),
      stopped: namesOf(gone).filter((name) => !started.includes(name)),
    };
  }

  return {
    apply,
    views: () => members.map(({ running }) => running.view()),
    streams() {
      let [open, closed] = [0, 0];
      for (const { running } of members) {
        const streams = running.streams();
        open += streams.open;
        closed += streams.closed;
      }
      return { open, closed };
    },
    async drain() {
      for (const member of members) drain(member);
      await Promise.all(draining.values());
    },
    close() {
      for (const running of [...members.map((member) => member.running), ...draining.keys()]) running.close();
    },
  };
}

const namesOf = (members: readonly Member[]): readonly string[] => members.map(({ name }) => name);

/** Keeps the members that did not change and starts the others: all of them, or none if one cannot start. */
function startNext(start: StartTunnel, members: readonly Member[], tunnels: readonly LoadedTunnel[]) {
  const before = new Map(members.map((member) => [member.key, member]));
  const fresh: Member[] = [];
  const memberOf = (tunnel: LoadedTunnel): Member => {
    const key = JSON.stringify(tunnel);
    const old = before.get(key);
    before.delete(key);
    if (old !== undefined) return old;
    const member = { key, name: tunnel.config.name, running: start(tunnel) };
    fresh.push(member);
    return member;
  };
  try {
    return { next: tunnels.map(memberOf), fresh, gone: [...before.values()] };
  } catch (error) {
    for (const { running } of fresh) running.close();
    throw error;
  }
}
