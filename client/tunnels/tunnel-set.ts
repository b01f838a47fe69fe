// The tunnels that this process carries. Applying a new configuration restarts only the tunnels that changed; the others keep
// their connections.
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import type { TunnelView } from '../terminal/live-status.ts';

/** One running tunnel; running-tunnel.ts starts the real one. */
export interface RunningTunnel {
  readonly view: () => TunnelView;
  /** Resolves when the last stream has ended or the drain timeout is over. */
  readonly drain: () => Promise<void>;
  readonly close: () => void;
}

export type StartTunnel = (tunnel: LoadedTunnel) => RunningTunnel;

export interface TunnelSetChange {
  readonly started: readonly string[];
  readonly stopped: readonly string[];
  readonly kept: readonly string[];
}

export interface TunnelSet {
  readonly apply: (tunnels: readonly LoadedTunnel[]) => TunnelSetChange;
  readonly views: () => readonly TunnelView[];
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

  /** Starts all new tunnels or none: if one cannot start, closes those that `fresh` holds. */
  function startNext(fresh: Member[], named: Omit<Member, 'running'>, tunnel: LoadedTunnel): Member {
    try {
      const member = { ...named, running: start(tunnel) };
      fresh.push(member);
      return member;
    } catch (error) {
      for (const { running } of fresh) running.close();
      throw error;
    }
  }

  function apply(tunnels: readonly LoadedTunnel[]): TunnelSetChange {
    const before = new Map(members.map((member) => [member.key, member]));
    const kept: string[] = [];
    const fresh: Member[] = [];
    const next = tunnels.map((tunnel): Member => {
      const { name } = tunnel.config;
      const key = JSON.stringify(tunnel);
      const old = before.get(key);
      if (old === undefined) return startNext(fresh, { key, name }, tunnel);
      kept.push(name);
      before.delete(key);
      return old;
    });
    const started = fresh.map(({ name }) => name);
    // The old tunnels drain after the new ones have started, so that visitors always have one.
    const gone = [...before.values()];
    members = next;
    for (const member of gone) drain(member);
    return { started, kept, stopped: gone.map(({ name }) => name).filter((name) => !started.includes(name)) };
  }

  return {
    apply,
    views: () => members.map(({ running }) => running.view()),
    async drain() {
      for (const member of members) drain(member);
      await Promise.all(draining.values());
    },
    close() {
      for (const running of [...members.map((member) => member.running), ...draining.keys()]) running.close();
    },
  };
}
