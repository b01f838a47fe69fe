// The HTTP server of control: the API and pages, the feed's upgrade, and the door for visitors that come through the edge.

import type { IncomingMessage, Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { keyOpensRegion } from '@underpass/control/edges/region/regions.ts';
import { createLimiter } from '@underpass/control/platform/limit/limiter.ts';
import { createAddressReader } from '@underpass/control/request/http/address.ts';
import { decideConnectionLimits } from '@underpass/edge/core/connection-limits.ts';
import { ConnectionLimiter } from '@underpass/edge/limits/connection-limiter.ts';
import { readProcessLimits } from '@underpass/edge/limits/process-limits.ts';
import { addressKey } from '@underpass/rules/address/address.ts';
import type { Settings } from '../settings/settings.ts';
import type { State } from '../state/state.ts';
import { type ConsoleDoor, openConsoleDoor } from './console-door.ts';
import type { ControlCore } from './control-core.ts';
import { openFeedDoor } from './feed-door.ts';
import { createHttpServer, limitCallers } from './http-server.ts';

/** How long a stop waits for requests to finish. */
const requestGraceMs = 5_000;

interface Http {
  readonly server: Server;
  /** The door for the dashboard's visitors that come through the edge. */
  readonly door: ConsoleDoor | undefined;
  /** Makes each response close its connection from now on. */
  beginStop(): void;
  /** A successor accepts on the same socket. Resolves when no first request of a connection is on its way any more. */
  leave(): Promise<void>;
}

/** A connection that is accepted already brings its first request within this time. */
const firstRequestMs = 2_000;

export async function openHttp(settings: Settings, state: State, { control, hub }: ControlCore): Promise<Http> {
  let isStopping = false;
  let isLeaving = false;
  let door: ConsoleDoor | undefined;
  const addressOf = (socket: Socket): string => door?.addressOf(socket) ?? socket.remoteAddress ?? '';
  const answer = getRequestListener(async (request, { incoming }) => {
    const response = await control.fetch(request, { remoteAddress: addressOf(incoming.socket) });
    if (isStopping || isLeaving) response.headers.set('connection', 'close');
    return response;
  });
  const server = createHttpServer(answer);
  limitCallers(
    server,
    new ConnectionLimiter(decideConnectionLimits(readProcessLimits(1), {}), state.log),
    settings.trustedProxies,
  );
  const endFeeds = openFeedDoor(server, {
    mayAsk: createFeedLimit(settings, state, addressOf),
    keyOpens: (region, keyHash) => keyOpensRegion(state.store.db, region, keyHash, state.clock()),
    accept: (duplex, options) => hub.accept(duplex, options),
    log: state.log,
  });
  if (settings.edgeConsole) door = await openConsoleDoor(server);
  const closeIdle = (): void => server.closeIdleConnections();
  // After a live view ends, its connection would stay open for another request. A stopping server closes it.
  server.on('request', (_, response) => response.once('finish', () => isStopping && setImmediate(closeIdle)));
  const beginStop = (): void => {
    isStopping = true;
    closeIdle();
  };
  const leave = async (): Promise<void> => {
    // Not the close of an HTTP server: that ends connections whose request is still on its way.
    NetServer.prototype.close.call(server);
    endFeeds();
    isLeaving = true;
    await wait(firstRequestMs);
  };
  return { server, door, beginStop, leave };
}

/** The same rate as the API's limit for each address, with a separate count. */
function createFeedLimit({ trustedProxies }: Settings, { store }: State, addressOf: (socket: Socket) => string) {
  const limiter = createLimiter(store);
  const readAddress = createAddressReader(trustedProxies);
  return async ({ socket, headers }: IncomingMessage): Promise<boolean> => {
    const forwarded = new Headers({ 'x-forwarded-for': String(headers['x-forwarded-for'] ?? '') });
    const address = readAddress(addressOf(socket), forwarded);
    return limiter.take('apiPerAddress', addressKey(address)).then(
      () => true,
      () => false,
    );
  };
}

export async function closeHttp(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), requestGraceMs);
  await closed;
  clearTimeout(timer);
}
