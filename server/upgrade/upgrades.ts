// The upgrades of a running server: one at a time, asked for over the socket in its home folder.

import type { Logger } from 'pino';
import { ServerError } from '../process/error.ts';
import { leaveMs, type Running } from '../serve/start.ts';
import { type Settings, settingTable } from '../settings/settings.ts';
import { tellServiceManager } from './service-manager.ts';
import { type Successor, startSuccessor } from './successor.ts';
import { openUpgradeDoor, type UpgradeRequest } from './upgrade-door.ts';

export interface Handover {
  readonly successor: Successor;
  /** The service manager follows the successor. Otherwise this process stays, so that its own parent sees no end. */
  readonly isFollowed: boolean;
}

export interface Upgrades {
  readonly handover: Promise<Handover>;
  /** Ends an upgrade that is under way. */
  close(): Promise<void>;
}

/** Each setting may also be given as a file. */
const settingNames = new Set(Object.values(settingTable).flatMap(({ name }) => [name, `${name}_FILE`]));

/** The successor's environment: this server's, or this server's with the settings of the command in place of its own. */
export function successorEnv(own: NodeJS.ProcessEnv, { settings }: UpgradeRequest): NodeJS.ProcessEnv {
  if (settings === undefined) return own;
  const of = (env: NodeJS.ProcessEnv, wanted: boolean) =>
    Object.entries(env).filter(([name]) => settingNames.has(name) === wanted);
  return Object.fromEntries([...of(own, false), ...of(settings, true)]);
}

export async function openUpgrades(settings: Settings, running: Running, log: Logger): Promise<Upgrades> {
  const { promise: handover, resolve } = Promise.withResolvers<Handover>();
  const stopped = new AbortController();
  let isBusy = false;
  let isHeld = true;
  let closeDoor = async (): Promise<void> => {};
  const openDoor = async (): Promise<void> => {
    closeDoor = await openUpgradeDoor(settings, {
      upgrade,
      status: async () => JSON.stringify(await running.status()),
      keys: (text) => running.useKeys(text),
    });
  };
  // The successor opens the door as soon as it has the lock.
  const lock = async (held: boolean): Promise<void> => {
    if (held === isHeld) return;
    isHeld = held;
    if (!held) await closeDoor();
    await running.lock(held);
    if (held && !stopped.signal.aborted) await openDoor();
  };
  const upgrade = async (request: UpgradeRequest): Promise<string> => {
    if (isBusy) throw new ServerError('upgrade-failed', 'another upgrade is under way');
    isBusy = true;
    try {
      log.info('upgrade: starting the successor');
      const env = successorEnv(process.env, request);
      const successor = await startSuccessor({ running: { ...running, lock }, env, log, signal: stopped.signal });
      const isFollowed = await tellServiceManager(process.env, successor.pid);
      if (isFollowed) successor.tell('followed');
      log.info({ successor: successor.pid, isFollowed }, 'upgrade: the successor has taken over');
      resolve({ successor, isFollowed });
      const seconds = leaveMs(settings) / 1_000;
      return `process ${successor.pid} has taken over; process ${process.pid} lets open connections finish, for up to ${seconds} s`;
    } finally {
      isBusy = false;
    }
  };
  await openDoor();
  return {
    handover,
    close: async () => {
      stopped.abort();
      await closeDoor();
    },
  };
}
