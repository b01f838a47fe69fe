// Ends a quick tunnel when its time is over, and starts it again if its lease ran out while this machine slept.

import { isTemporary } from '../account/api.ts';
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import type { Io } from '../process/io.ts';
import type { Steered, Steering } from '../tunnels/carry-loop.ts';

interface SteerOptions {
  readonly now: Io['now'];
  /** When the server deletes the tunnel in any case. */
  readonly endsAtMs: number | undefined;
  /** The tunnel as the server has it now; undefined if it is gone. */
  readonly find: () => Promise<LoadedTunnel | undefined>;
  /** Makes it again. */
  readonly start: () => Promise<LoadedTunnel>;
  /** The tunnel is gone for good: somebody deleted it, or it cannot be made again. */
  readonly onGone: (error: unknown) => void;
}

const tickMs = 1_000;
/** The server deletes after five minutes without a client. Less than that was no reason for it to do so. */
const leaseLostMs = 4 * 60_000;
/** Time after a sleep in which the carriers may look alive until their pings fail. */
const wakingMs = 2 * 60_000;

interface Absence {
  /** When the last carrier was lost; undefined while one is connected. */
  readonly lostAtMs: number | undefined;
  /** When this machine last woke from a sleep as long as the lease. */
  readonly wokeAtMs: number | undefined;
}

/** A token is refused because the lease ran out, if this client was away for so long; else somebody deleted the tunnel. */
export function ranOut({ lostAtMs, wokeAtMs }: Absence, nowMs: number): boolean {
  const wasLost = lostAtMs !== undefined && nowMs - lostAtMs >= leaseLostMs;
  const hasSlept = wokeAtMs !== undefined && nowMs - wokeAtMs <= wakingMs;
  return wasLost || hasSlept;
}

export function createSteer({ now, endsAtMs, find, start, onGone }: SteerOptions): (steering: Steering) => Steered {
  return ({ views, apply, stop }) => {
    let absence: Absence = { lostAtMs: undefined, wokeAtMs: undefined };
    let tickedAtMs = now();
    let isBusy = false;
    const tick = () => {
      const nowMs = now();
      const isConnected = views().some(({ state }) => state === 'connected');
      absence = {
        lostAtMs: isConnected ? undefined : (absence.lostAtMs ?? nowMs),
        wokeAtMs: nowMs - tickedAtMs >= leaseLostMs ? nowMs : absence.wokeAtMs,
      };
      tickedAtMs = nowMs;
      if (endsAtMs !== undefined && nowMs >= endsAtMs) stop();
    };
    const timer = setInterval(tick, tickMs).unref();
    const giveUp = (error?: unknown) => {
      onGone(error);
      stop();
    };
    // An edge may not know a new tunnel yet, or somebody rotated the token: then the server still has the tunnel.
    const look = async () => {
      tick();
      const tunnel = (await find()) ?? (ranOut(absence, now()) ? await start() : undefined);
      if (tunnel === undefined) return giveUp();
      apply([tunnel]);
      absence = { ...absence, wokeAtMs: undefined };
    };
    return {
      onEvent({ event, code }) {
        if (event !== 'problem' || code !== 'token-refused' || isBusy) return;
        isBusy = true;
        void look()
          .catch((error: unknown) => isTemporary(error) || giveUp(error))
          .finally(() => {
            isBusy = false;
          });
      },
      end: () => clearInterval(timer),
    };
  };
}
