// The tunnels that this process carries now. A new set of plans touches only what differs: what stays keeps its connections.
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import type { TunnelView } from '../terminal/live-status.ts';

/** One running tunnel; carried.ts makes the real one. */
export interface RunningTunnel {
  readonly view: () => TunnelView;
  /** Resolves when the last stream has ended, or the time for it is over. */
  readonly drain: () => Promise<void>;
  readonly close: () => void;
}

export type StartTunnel = (planned: LoadedTunnel) => RunningTunnel;

export interface TunnelSetChange {
  readonly started: readonly string[];
  readonly stopped: readonly string[];
  readonly kept: readonly string[];
}

export interface TunnelSet {
  readonly apply: (planned: readonly LoadedTunnel[]) => TunnelSetChange;
  readonly views: () => readonly TunnelView[];
  /** Drains all, those of earlier sets included. */
  readonly drain: () => Promise<void>;
  readonly close: () => void;
}

interface Member {
  readonly key: string;
  readonly name: string;
  readonly carried: RunningTunnel;
}

export function createTunnelSet(start: StartTunnel): TunnelSet {
  let members: readonly Member[] = [];
  const leaving = new Map<RunningTunnel, Promise<void>>();

  function leave({ carried }: Member): void {
    leaving.set(
      carried,
      carried.drain().finally(() => leaving.delete(carried)),
    );
  }

  /** All of a set or none: where one cannot start, those before it are closed. */
  function startBeside(fresh: Member[], named: Omit<Member, 'carried'>, tunnel: LoadedTunnel): Member {
    try {
      const member = { ...named, carried: start(tunnel) };
      fresh.push(member);
      return member;
    } catch (error) {
      for (const { carried } of fresh) carried.close();
      throw error;
    }
  }

  function apply(planned: readonly LoadedTunnel[]): TunnelSetChange {
    const before = new Map(members.map((member) => [member.key, member]));
    const kept: string[] = [];
    const fresh: Member[] = [];
    const next = planned.map((tunnel): Member => {
      const { name } = tunnel.plan;
      const key = JSON.stringify(tunnel);
      const old = before.get(key);
      if (old === undefined) return startBeside(fresh, { key, name }, tunnel);
      kept.push(name);
      before.delete(key);
      return old;
    });
    const started = fresh.map(({ name }) => name);
    // What is replaced goes after its successor has started, so that visitors always have one.
    const gone = [...before.values()];
    members = next;
    for (const member of gone) leave(member);
    return { started, kept, stopped: gone.map(({ name }) => name).filter((name) => !started.includes(name)) };
  }

  return {
    apply,
    views: () => members.map(({ carried }) => carried.view()),
    async drain() {
      for (const member of members) leave(member);
      await Promise.all(leaving.values());
    },
    close() {
      for (const carried of [...members.map((member) => member.carried), ...leaving.keys()]) carried.close();
    },
  };
}
