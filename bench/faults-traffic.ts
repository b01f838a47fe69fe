// The visitors of the fault table. Requests begin at a fixed rate, whether or not earlier ones have an answer; WebSockets stay open.
import type { TestContext } from 'node:test';
import { type Door, visit } from '@underpass/tests/helpers/visitor.ts';
import type { Visit, Way } from './core/faults.ts';
import { sleep } from './scale-region.ts';
import { openWebSocket } from './soak-traffic.ts';

/** A visitor waits this long for an answer. */
const patienceMs = 10_000;
/** One request of five is a POST: no edge sends it to a second client. No multiple of five addresses take turns. */
const postEvery = 5;
const socketCount = 12;
const socketPauseMs = 1_000;

export interface Address {
  readonly way: Way;
  readonly door: Door;
  /** True while the fault has this edge: what its own address answers then says nothing about the others. */
  readonly isAway: () => boolean;
}

export interface Traffic {
  /** What has ended since the last call. */
  take(): { readonly visits: readonly Visit[]; readonly socketsCut: number; readonly socketsRefused: readonly Visit[] };
  stop(): void;
}

const postRequest = ({ host, port }: Door): string =>
  `POST / HTTP/1.1\r\nHost: ${host}:${port}\r\nConnection: close\r\nContent-Length: 4\r\n\r\nsend`;

const begun = (atMs: number): string => `begun at ${(atMs / 1_000).toFixed(1)} s`;

async function patiently<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${patienceMs} ms`)), patienceMs);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

/** `everyMs`: between two requests. Each request is a connection of its own; the addresses take turns. */
export function startTraffic(
  t: TestContext,
  addresses: readonly Address[],
  everyMs: number,
  socketDoors: readonly Door[],
  onFailure: (text: string) => void,
): Traffic {
  let visits: Visit[] = [];
  let socketsRefused: Visit[] = [];
  let socketsCut = 0;
  let stopped = false;

  const visitOnce = async ({ way, door, isAway }: Address, isPost: boolean): Promise<void> => {
    const wasAway = isAway();
    const fromMs = performance.now();
    const { status, text } = await patiently(visit(door, '/', isPost ? postRequest(door) : undefined)).catch(() => ({
      status: -1,
      text: '',
    }));
    if (wasAway || isAway()) return;
    visits.push({ way, fromMs, toMs: performance.now(), ok: status === 200 });
    if (status !== 200)
      onFailure(
        `${begun(fromMs)} ${isPost ? 'POST' : 'GET'} ${way} ${door.port} ${door.host}: ${status} ${/UNDERPASS_\w+/.exec(text)?.[0] ?? ''}`,
      );
  };
  let turn = 0;
  const timer = setInterval(() => void visitOnce(addresses[turn % addresses.length]!, turn++ % postEvery === 0), everyMs);

  const open = async (door: Door) => {
    const fromMs = performance.now();
    try {
      return await patiently(openWebSocket(door));
    } catch (error) {
      socketsRefused.push({ way: 'through', fromMs, toMs: performance.now(), ok: false });
      onFailure(`${begun(fromMs)} WebSocket: ${(error as Error).message}`);
      return null;
    }
  };
  const keepSocket = async (door: Door): Promise<void> => {
    while (!stopped) {
      const socket = await open(door);
      try {
        while (socket !== null && !stopped) {
          await patiently(socket.echo('ping'));
          await sleep(socketPauseMs);
        }
      } catch {
        if (!stopped) socketsCut += 1;
      }
      socket?.close();
      if (socket === null) await sleep(socketPauseMs);
    }
  };
  for (let index = 0; index < socketCount; index++) void keepSocket(socketDoors[index % socketDoors.length]!);

  const stop = (): void => {
    stopped = true;
    clearInterval(timer);
  };
  t.after(stop);
  return {
    take: () => {
      const taken = { visits, socketsCut, socketsRefused };
      [visits, socketsCut, socketsRefused] = [[], 0, []];
      return taken;
    },
    stop,
  };
}
