// Commands about what the server keeps: migration, keys, certificates, the feed's last known state.

import { readFile } from 'node:fs/promises';
import { type EdgeNote, readEdgeNotes } from '@underpass/control/edges/feed/edge-notes.ts';
import { readSealed } from '@underpass/control/operator/sealed-rows.ts';
import { createKeyRing, type KeyRing } from '@underpass/control/platform/secret/key-ring.ts';
import type { Command } from 'commander';
import { ServerError } from '../process/error.ts';
import type { Settings } from '../settings/settings.ts';
import { expectNoLostDatabase } from '../state/database-file.ts';
import { createKeyText, keyFile, writeWhole } from '../state/home.ts';
import type { State } from '../state/state.ts';
import { askServer } from '../upgrade/upgrade-door.ts';
import { addBackupCommands } from './backup.ts';
import { type OutputOptions, printRows, type Shell, withState } from './command-line.ts';

export function addKeepingCommands(program: Command, shell: Shell): void {
  addBackupCommands(program, shell);
  addKeys(program, shell);
  program
    .command('migrate')
    .description("bring the database to this release's schema; start does so too")
    .action(() => {
      const work = async ({ store }: State) => shell.io.stdout.write(`the ${store.kind} database is up to date\n`);
      return withState(shell, work, expectNoLostDatabase);
    });
  program
    .command('certificates')
    .description('certificates of this installation')
    .command('list')
    .description('list certificates, earliest expiry first')
    .option('--json', 'print JSON')
    .action((options: OutputOptions) =>
      withState(shell, async (state) => printRows(shell, await listCertificates(state), options)),
    );
  program
    .command('feed')
    .description('the connection between control and edges')
    .command('status')
    .description('show the edges, as of at most a minute ago')
    .option('--json', 'print JSON')
    .action((options: OutputOptions) => showEdges(shell, options));
  program.commands
    .find((command) => command.name() === 'regions')
    ?.command('edges')
    .description('show the edges of all regions, as of at most a minute ago')
    .option('--json', 'print JSON')
    .action((options: OutputOptions) => showEdges(shell, options));
}

const showEdges = (shell: Shell, options: OutputOptions): Promise<void> =>
  withState(shell, async ({ store }) => printRows(shell, await readEdgeNotes(store.db), options, pickEdge));

const pickEdge = ({ id, region, version, connected, clients, acknowledged, lastSeenAt }: EdgeNote): object => ({
  ...{ id, region, version, connected, clients, acknowledged, lastSeenAt },
});

async function listCertificates({ store }: State): Promise<object[]> {
  const rows = await store.db
    .selectFrom('certificates')
    .select(['name', 'issuer', 'starts_at', 'expires_at'])
    .orderBy('expires_at')
    .execute();
  return rows.map((row) => ({
    name: row.name,
    issuer: row.issuer,
    from: new Date(row.starts_at).toISOString(),
    until: new Date(row.expires_at).toISOString(),
  }));
}

function addKeys(program: Command, shell: Shell): void {
  const group = program.command('keys').description('the keys that encrypt tokens and private keys in the database');
  group
    .command('rotate')
    .description('add a new key; a running server re-encrypts everything with it at once, another at its start')
    .action(() => withState(shell, (_, settings) => rotateKey(shell, settings)));
  group
    .command('reload')
    .description('give the running server the keys of the setting or the key file, without a restart')
    .action(() => withState(shell, async (_, settings) => shell.io.stdout.write(`${await reloadKeys(settings)}\n`)));
  group
    .command('prune')
    .description('remove the older keys, once nothing is encrypted with them')
    .action(() => withState(shell, (state, settings) => pruneKeys(shell, state, settings)));
}

function requireKeyFile({ masterKey, home }: Settings): string {
  if (masterKey === undefined) return keyFile(home);
  throw new ServerError(
    'refused',
    'the keys come from UNDERPASS_MASTER_KEY. Put a new one after the old one, separated by a comma, and run keys reload beside every process; then put it first and reload again; then remove the old one',
  );
}

async function rotateKey({ io }: Shell, settings: Settings): Promise<void> {
  const path = requireKeyFile(settings);
  const kept = await readFile(path, 'utf8');
  await writeWhole(path, `${createKeyText()}\n${kept}`);
  io.stdout.write(`a new key is in place\n${await reloadIfRunning(settings)}\n`);
}

/** Sends the keys over the socket in the home folder: only the server's user can open it. */
async function reloadKeys(settings: Settings): Promise<string> {
  return askServer(settings, { ask: 'keys', keys: settings.masterKey ?? (await readFile(keyFile(settings.home), 'utf8')) });
}

async function reloadIfRunning(settings: Settings): Promise<string> {
  try {
    return `${await reloadKeys(settings)}\nnow run underpass-server keys prune`;
  } catch (error) {
    if (error instanceof ServerError && error.code === 'not-running')
      return 'now start the server, which encrypts everything with it, then run underpass-server keys prune';
    throw error;
  }
}

async function countStale({ store, clock }: State, ring: KeyRing): Promise<number> {
  return (await readSealed(store.db, clock())).filter((sealed) => ring.isStale(sealed)).length;
}

async function pruneKeys({ io }: Shell, state: State, settings: Settings): Promise<void> {
  const path = requireKeyFile(settings);
  const [newest = ''] = (await readFile(path, 'utf8')).trim().split(/\s+/);
  const stale = await countStale(state, createKeyRing([Buffer.from(newest, 'base64')]));
  if (stale > 0)
    throw new ServerError(
      'refused',
      `${stale} secrets are still sealed with an older key; run keys reload, or restart the server, and try again`,
    );
  await writeWhole(path, `${newest}\n`);
  await reloadIfRunning(settings);
  io.stdout.write('only the newest key is left\n');
}
