// Runs what the hub asks the state reader to read: one reading at a time, and requests that arrive during one are gathered.

import type { StateReader } from './state-reader.ts';

export interface Refresh {
  readonly tunnels: (ids: readonly string[]) => void;
  readonly challenges: () => void;
  readonly everything: () => void;
  /** Resolves when all requests are done. */
  readonly idle: () => Promise<void>;
}

interface Requested {
  readonly ids: Set<string>;
  challenges: boolean;
  everything: boolean;
}

export interface RefreshDeps {
  readonly reader: Pick<StateReader, 'tunnels' | 'challenges' | 'everything'>;
  /** Everything was read. */
  readonly onWhole: () => void;
  readonly onError: (error: unknown) => void;
}

export function createRefresh({ reader, onWhole, onError }: RefreshDeps): Refresh {
  const requested: Requested = { ids: new Set(), challenges: false, everything: false };
  let running: Promise<void> | undefined;

  const readSmall = async (): Promise<void> => {
    const ids = [...requested.ids];
    const { challenges } = requested;
    requested.ids.clear();
    requested.challenges = false;
    if (challenges) await reader.challenges();
    await reader.tunnels(ids);
  };

  const readOnce = async (): Promise<void> => {
    if (requested.everything) {
      requested.everything = false;
      await reader.everything(readSmall);
      onWhole();
    }
    await readSmall();
  };

  const run = async (): Promise<void> => {
    while (requested.everything || requested.challenges || requested.ids.size > 0) await readOnce().catch(onError);
    running = undefined;
  };

  const start = (): void => {
    running ??= Promise.resolve().then(run);
  };

  return {
    tunnels: (ids) => {
      for (const id of ids) requested.ids.add(id);
      start();
    },
    challenges: () => {
      requested.challenges = true;
      start();
    },
    everything: () => {
      requested.everything = true;
      start();
    },
    idle: async () => {
      while (running !== undefined) await running;
    },
  };
}
