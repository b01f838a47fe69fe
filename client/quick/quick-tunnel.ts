// A quick tunnel, from its start at the server to its deletion there. The command and the library carry it.

import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { parseLasting } from '@underpass/rules/tunnel/quick-tunnel.ts';
import type { ProjectAccount } from '../account/account.ts';
import { isServed, verifiedUrls } from '../account/connectable.ts';
import { withTimeout } from '../carry/timeout.ts';
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import { ClientError, orUsage } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import type { Steered, Steering } from '../tunnels/carry-loop.ts';
import type { Readiness } from '../tunnels/readiness.ts';
import { claimSlot } from './slot.ts';
import { createSteer } from './steer.ts';

/** An open page holds connections that never end, so a quick tunnel does not wait for them as long as others. */
export const quickDrainMs = 3_000;
const deleteMs = 5_000;

interface QuickRequest {
  readonly name?: string;
  readonly domain?: readonly string[];
  readonly keep?: boolean;
  readonly group?: string;
  readonly access?: string;
  readonly region?: string;
  readonly type?: 'http' | 'tcp';
}

interface QuickPlace {
  readonly account: ProjectAccount;
  /** The same person gets the same address in it again. */
  readonly folder: string;
  readonly lastsSeconds?: number | undefined;
}

/** The server no longer has the tunnel, or does not let this user open it again. */
export interface Gone {
  readonly error: unknown;
}

/** `kept`: somebody removed the expiry in the meantime. A text says why it was not deleted. */
type Removal = 'deleted' | 'kept' | { readonly reason: string };

export interface QuickTunnel {
  readonly tunnel: Tunnel;
  readonly readiness: Readiness;
  /** Keeps the tunnel at the server while it is carried. `load` adds what the client needs to carry it. */
  readonly steer: (load: (tunnel: Tunnel) => Promise<LoadedTunnel>, onGone: (gone: Gone) => void) => (by: Steering) => Steered;
  /** Deletes it at the server, unless it is kept. */
  readonly remove: () => Promise<Removal>;
  /** Lets the next command or library have this address. */
  readonly release: () => Promise<void>;
}

/** Parses the time of `--for`. */
export function parseFor(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return orUsage(parseLasting(text));
}

export async function openQuickTunnel(io: Io, place: QuickPlace, options: QuickRequest): Promise<QuickTunnel> {
  const { account, folder, lastsSeconds } = place;
  const type = options.type === 'tcp' ? ['tcp'] : [];
  const about = [account.api.origin, account.project.id, options.region ?? '', options.name ?? '', ...type];
  const slot = await claimSlot(io, folder, about);
  const endsAtMs = lastsSeconds === undefined ? undefined : io.now() + lastsSeconds * 1000;
  const start = () => startAtServer(account, payloadOf(slot.key, endsAtMs, io.now(), options));
  try {
    const tunnel = await start();
    const find = () => findAtServer(account, tunnel.name);
    return {
      tunnel,
      readiness: { wanted: verifiedUrls(tunnel), isServed: isServed(tunnel, find), isNew: true },
      steer: (load, onGone) =>
        createSteer({
          now: io.now,
          endsAtMs,
          find: async () => {
            const found = await find();
            return found && load(found);
          },
          start: async () => load(await start()),
          onGone: (error) => onGone({ error }),
        }),
      remove: () => remove(account, tunnel),
      release: slot.release,
    };
  } catch (error) {
    await slot.release();
    throw error;
  }
}

function payloadOf(key: string, endsAtMs: number | undefined, nowMs: number, options: QuickRequest) {
  const { name, region, domain, group, access, keep, type } = options;
  return {
    key,
    // An earlier server knows no other type, and refuses no field that it does not know.
    ...(type === 'tcp' ? { type } : {}),
    ...(name === undefined ? {} : { name }),
    ...(region === undefined ? {} : { region }),
    ...(domain === undefined ? {} : { ingressDomains: domain }),
    ...(group === undefined ? {} : { securityGroup: group }),
    ...(access === undefined ? {} : { accessPolicy: access }),
    ...(keep === undefined ? {} : { keep }),
    ...(endsAtMs === undefined ? {} : { lastsSeconds: Math.max(60, Math.ceil((endsAtMs - nowMs) / 1000)) }),
  };
}

function startAtServer({ api, project }: ProjectAccount, payload: ReturnType<typeof payloadOf>): Promise<Tunnel> {
  return api.call(tunnelCalls.startQuickTunnel, { project: project.id, payload });
}

function findAtServer({ api, project }: ProjectAccount, name: string): Promise<Tunnel | undefined> {
  return api.call(tunnelCalls.getTunnel, { project: project.id, name }).catch(unlessMissing);
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof ClientError) || error.code !== 'not-found') throw error;
}

async function remove({ api, project }: ProjectAccount, { name, expiresAt }: Tunnel): Promise<Removal> {
  if (expiresAt === undefined) return 'kept';
  const deletion = api.call(tunnelCalls.deleteTunnel, { project: project.id, name, unkept: '1' }).then(
    () => 'deleted' as const,
    (error: unknown) => error,
  );
  const outcome = await withTimeout(deletion, deleteMs);
  const code = outcome instanceof ClientError ? outcome.code : undefined;
  if (outcome === 'deleted' || code === 'not-found') return 'deleted';
  if (code === 'conflict') return 'kept';
  return { reason: outcome instanceof Error ? outcome.message : `no answer within ${deleteMs / 1000} s` };
}
