// Commands about what the server keeps: backup, restore, migration, keys, certificates, the feed's last known state.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readEdgeNotes } from '@underpass/control/feed/edge-notes.ts';
import { giveUpSealed, readSealed } from '@underpass/control/operator/sealed-rows.ts';
import { createKeyRing, type KeyRing } from '@underpass/control/secret/key-ring.ts';
import { dumpStore, restoreStore } from '@underpass/control/store/dump.ts';
import type { Queries } from '@underpass/control/store/store.ts';
import type { Command } from 'commander';
import { ServerError } from '../process/error.ts';
import type { Settings } from '../settings/settings.ts';
import { createKeyText, keyFile, readIfThere, writeWhole } from '../state/home.ts';
import { findMissingKeys } from '../state/missing-keys.ts';
import type { State } from '../state/state.ts';
import { type OutputOptions, printRows, type Shell, withState } from './command-line.ts';

export function addKeepingCommands(program: Command, shell: Shell): void {
  addBackup(program, shell);
  addKeys(program, shell);
  program
    .command('migrate')
    .description("bring the database to this release's schema; start does so too")
    .action(() => {
      const work = async ({ store }: State) => shell.io.stdout.write(`the ${store.kind} database is up to date\n`);
      return withState(shell, work, { mayMake: true });
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
  withState(shell, async ({ store }) => printRows(shell, await readEdgeNotes(store.db), options));

function addBackup(program: Command, shell: Shell): void {
  program
    .command('backup')
    .description('write a consistent copy of the database to a new file, and name what else to keep')
    .argument('<file>')
    .action((file: string) =>
      withState(shell, async ({ store }, settings) => {
        await usingFile(file, () => dumpStore(store, file));
        shell.io.stdout.write(`wrote ${file}\n${await renderKeepsakes(settings)}`);
      }),
    );
  program
    .command('restore')
    .description('read a backup into an empty database; stop the server first')
    .argument('<file>')
    .option(
      '--without-keys',
      'the keys are lost: give tunnels new tokens (the old ones work for a day) and issue new certificates',
    )
    .action((file: string, { withoutKeys = false }: { withoutKeys?: boolean }) =>
      withState(shell, (state, settings) => restore(shell, state, settings, file, withoutKeys), { mayMake: true }),
    );
}

async function restore({ io }: Shell, state: State, settings: Settings, file: string, withoutKeys: boolean): Promise<void> {
  const { store, keyRing, clock } = state;
  await usingFile(file, () =>
    restoreStore(store, file, async (trx) => {
      if (withoutKeys) await giveUpSealed(trx, keyRing, clock());
      else await expectKeys(trx, state, settings);
    }),
  );
  io.stdout.write(`restored ${file}\n`);
}

/** The files that a restore on another machine needs in addition to the backup. */
async function renderKeepsakes({ home, masterKey }: Settings): Promise<string> {
  const key = masterKey === undefined ? keyFile(home) : 'UNDERPASS_MASTER_KEY';
  const localCa = (await readIfThere(join(home, 'ca.pem'))) !== undefined;
  const pinned = localCa
    ? `and ${join(home, 'ca.pem')} and ${join(home, 'ca-key.pem')}: clients trust that authority by its fingerprint\n`
    : '';
  return `keep ${key} too, in another place: without it the secrets in the backup cannot be decrypted\n${pinned}`;
}

/** Refuses a restore if no key opens its secrets: it would only fail later. */
async function expectKeys(trx: Queries, state: State, settings: Settings): Promise<void> {
  const missing = await findMissingKeys(trx, state, settings);
  if (missing === undefined) return;
  throw new ServerError(
    'refused',
    `the backup: ${missing}. Nothing was restored. Put the key of the backed-up server there, or restore --without-keys if it is lost`,
  );
}

async function usingFile(file: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ServerError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ServerError('file-unusable', `${file}: ${why}`, { cause: error });
  }
}

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
    .description('add a new key; the server re-encrypts everything with it at its next start')
    .action(() => withState(shell, (_, settings) => rotateKey(shell, settings)));
  group
    .command('prune')
    .description('remove the older keys, once nothing is encrypted with them')
    .action(() => withState(shell, (state, settings) => pruneKeys(shell, state, settings)));
}

function requireKeyFile({ masterKey, home }: Settings): string {
  if (masterKey === undefined) return keyFile(home);
  throw new ServerError(
    'refused',
    'the keys come from UNDERPASS_MASTER_KEY. Put a new one after the old one, separated by a comma, and restart every process; then put it first and restart again; then remove the old one',
  );
}

async function rotateKey({ io }: Shell, settings: Settings): Promise<void> {
  const path = requireKeyFile(settings);
  const kept = await readFile(path, 'utf8');
  await writeWhole(path, `${createKeyText()}\n${kept}`);
  io.stdout.write('a new key is in place; restart the server, then run underpass-server keys prune\n');
}

async function countStale({ store, clock }: State, ring: KeyRing): Promise<number> {
  return (await readSealed(store.db, clock())).filter((sealed) => ring.isStale(sealed)).length;
}

async function pruneKeys({ io }: Shell, state: State, settings: Settings): Promise<void> {
  const path = requireKeyFile(settings);
  const [newest = ''] = (await readFile(path, 'utf8')).trim().split(/\s+/);
  const stale = await countStale(state, createKeyRing([Buffer.from(newest, 'base64')]));
  if (stale > 0)
    throw new ServerError('refused', `${stale} secrets are still sealed with an older key; restart the server and try again`);
  await writeWhole(path, `${newest}\n`);
  io.stdout.write('only the newest key is left\n');
}
