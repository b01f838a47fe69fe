// Control in this process, from start to stop: state, API, feed, certificates, domains.

import type { Server } from 'node:http';
import { resealAll } from '@underpass/control/operator/sealed-rows.ts';
import { createKeyRing } from '@underpass/control/platform/secret/key-ring.ts';
import type { InheritedSockets } from '@underpass/edge/door/inherited-sockets.ts';
import type { Listen } from '@underpass/edge/door/listen.ts';
import { ServerError } from '../process/error.ts';
import type { Settings } from '../settings/settings.ts';
import { parseKeys } from '../state/home.ts';
import { findMissingKeys } from '../state/missing-keys.ts';
import type { State } from '../state/state.ts';
import { startUpkeep } from './certificate-part.ts';
import { type ControlCore, openControlCore, type Replaced } from './control-core.ts';
import { closeHttp, openHttp } from './control-http.ts';
import { expectFolders } from './control-settings.ts';
import { listen } from './listen.ts';

export interface RunningControl {
  readonly core: ControlCore;
  readonly port: number;
  readonly server: Server;
  /** The socket for the dashboard's visitors from the edge of this process, if it serves them. */
  readonly consolePath: string | undefined;
  /** Call it once the edge of this process can answer the challenges of an authority. */
  orderCertificates(): void;
  /** Opens the port of a successor, which does so last. */
  open(): Promise<void>;
  /** Reads the store again: another process changed it. */
  refresh(): void;
  /** Stops taking requests; readiness answers 503. */
  beginStop(): void;
  /** A successor takes requests and feeds: resolves when the last request here is answered. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

export const controlAddress = ({ controlListen: host, port }: Settings): Listen => ({ host, port });

/**
 * `prepare` runs once the port is open. Requests may come from then on, but /readyz answers 200 only at the end. With `inherited`,
 * the sockets of the process before this one, the port waits for open().
 */
export async function startControl(
  settings: Settings,
  state: State,
  prepare: (core: ControlCore) => Promise<void>,
  replaced: Replaced = {},
  inherited?: InheritedSockets,
): Promise<RunningControl> {
  expectFolders(settings, state.log);
  const core = await openControlCore(settings, state, replaced);
  const missing = await findMissingKeys(state.store.db, state, settings);
  if (missing !== undefined) throw new ServerError('keys-missing', `the database: ${missing}`);
  await reseal(state);
  const http = await openHttp(settings, state, core);
  let { port } = settings;
  const open = async (): Promise<void> => {
    const where = controlAddress(settings);
    port = await listen(http.server, inherited?.take('control', where) ?? where, 'UNDERPASS_PORT');
  };
  if (inherited === undefined) await open();
  await prepare(core);
  await core.hub.start();
  const upkeep = await startUpkeep(settings, state, core);
  core.control.start(upkeep.background);
  return {
    core,
    get port() {
      return port;
    },
    server: http.server,
    open,
    refresh: () => core.hub.certificatesChanged(),
    leave: async () => {
      await http.leave();
      core.control.beginStop();
      http.beginStop();
      await closeHttp(http.server);
    },
    consolePath: http.door?.path,
    orderCertificates: upkeep.order,
    beginStop: () => {
      core.control.beginStop();
      http.beginStop();
    },
    close: async () => {
      await upkeep.close();
      const closed = closeHttp(http.server);
      await core.close();
      await closed;
      await http.door?.close();
    },
  };
}

/** Takes other keys while calls go on. Refuses keys that would leave a secret unreadable. */
export async function useKeys(settings: Settings, state: State, text: string): Promise<string> {
  const keys = parseKeys(text, 'the given keys');
  const missing = await findMissingKeys(state.store.db, { ...state, keyRing: createKeyRing(keys) }, settings);
  if (missing !== undefined) throw new ServerError('keys-missing', `the database: ${missing}`);
  state.keyRing.replace(keys);
  const count = await reseal(state);
  return `${keys.length === 1 ? 'one key is' : `${keys.length} keys are`} in use; ${count} secrets were encrypted again with the first`;
}

/** Seals with the newest key what older keys sealed, so that `keys prune` may remove those. Returns how many. */
async function reseal({ store, keyRing, clock, log }: State): Promise<number> {
  const count = await resealAll(store.db, keyRing, clock());
  if (count > 0) log.info({ count }, 'keys: sealed with the newest key');
  return count;
}
