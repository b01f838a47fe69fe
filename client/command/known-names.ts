// The names that completion offers: tunnels, regions and projects of the account. Kept in a file for a short time, because a
// shell asks at every Tab. Holds names only, never a token.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { type AccountFlags, openAccount, openProject, serverOf } from '../account/account.ts';
import { readCredentials, writePrivateFile } from '../account/credentials.ts';
import type { Io } from '../process/io.ts';

export type KnownNames = 'tunnel' | 'region' | 'project';

const freshMs = 30_000;
/** People wait for the answer to a Tab. */
const patienceMs = 900;
/** More candidates than a terminal shows at once. */
const maxNames = 1_000;

interface Known {
  readonly atMs: number;
  readonly names: readonly string[];
}

/** Answers what was known before, else nothing, if there is no sign-in or no answer in time. Keeps a failure for as long. */
export async function knownNames(io: Io, kind: KnownNames, flags: AccountFlags): Promise<readonly string[]> {
  const path = await cachePath(io, kind, flags);
  const before = await readKnown(path);
  if (before !== undefined && Math.abs(io.now() - before.atMs) < freshMs) return before.names;
  const names = await fetchNames(patientIo(io), kind, flags).catch(() => before?.names ?? []);
  const known: Known = { atMs: io.now(), names: names.slice(0, maxNames) };
  await writePrivateFile(path, JSON.stringify(known)).catch(() => {});
  return known.names;
}

function patientIo(io: Io): Io {
  const deadline = AbortSignal.timeout(patienceMs);
  const fetch: Io['fetch'] = (input, init) =>
    io.fetch(input, { ...init, signal: AbortSignal.any([deadline, ...(init?.signal ? [init.signal] : [])]) });
  return { ...io, fetch };
}

async function fetchNames(io: Io, kind: KnownNames, flags: AccountFlags): Promise<readonly string[]> {
  switch (kind) {
    case 'tunnel': {
      const { api, project } = await openProject(io, flags);
      return (await api.call(tunnelCalls.listTunnels, { project: project.id })).map(({ name }) => name);
    }
    case 'region':
      return (await (await openAccount(io, flags)).call(tunnelCalls.listRegions, {})).map(({ name }) => name);
    case 'project':
      return (await (await openAccount(io, flags)).call(sessionCalls.listProjects, {})).map(({ name }) => name);
  }
}

/** A file for each account and project, named by a digest: the name shows neither. */
async function cachePath(io: Io, kind: KnownNames, flags: AccountFlags): Promise<string> {
  const origin = await serverOf(io, flags);
  const { email, project: own } = (await readCredentials(io)).servers[origin] ?? { email: '', project: '' };
  const project = flags.project ?? io.env.UNDERPASS_PROJECT ?? own;
  const account = [origin, email, io.env.UNDERPASS_API_TOKEN ?? '', kind === 'tunnel' ? project : ''];
  const digest = createHash('sha256').update(JSON.stringify(account)).digest('hex').slice(0, 16);
  return join(io.env.XDG_CACHE_HOME || join(io.home, '.cache'), 'underpass', `${kind}-${digest}.json`);
}

async function readKnown(path: string): Promise<Known | undefined> {
  try {
    const { atMs, names } = JSON.parse(await readFile(path, 'utf8')) as Known;
    const isKnown = Number.isFinite(atMs) && Array.isArray(names) && names.every((name: unknown) => typeof name === 'string');
    return isKnown ? { atMs, names } : undefined;
  } catch {
    return undefined;
  }
}
