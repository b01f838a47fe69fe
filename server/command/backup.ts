// underpass-server backup and restore: the database, and the files of the home folder without which it is of little use.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fingerprintOf } from '@underpass/control/edges/certificate/x509.ts';
import { giveUpSealed } from '@underpass/control/operator/sealed-rows.ts';
import { noteBackup, readBackupNote } from '@underpass/control/platform/store/backup-note.ts';
import {
  checkBackup,
  dumpStore,
  type KeptFile,
  printStore,
  readKeptFiles,
  restoreStore,
  StoreNotEmpty,
} from '@underpass/control/platform/store/dump.ts';
import type { Queries, Store } from '@underpass/control/platform/store/store.ts';
import { hourMs } from '@underpass/rules/limits.ts';
import type { Command } from 'commander';
import { ServerError } from '../process/error.ts';
import { translateFault } from '../process/refusal.ts';
import type { Settings } from '../settings/settings.ts';
import { databasePath, hasDatabase } from '../state/database-file.ts';
import { keyFile, openHome, readIfThere, writeWhole } from '../state/home.ts';
import { findMissingKeys } from '../state/missing-keys.ts';
import type { State } from '../state/state.ts';
import { type Shell, withState } from './command-line.ts';

/** The keys of sealed rows, the authority that clients pin, the key of releases, and the token that the quick start's client reads. */
const keptNames = ['keys', 'ca.pem', 'ca-key.pem', 'release-key.pem', 'first-tunnel.token'] as const;

export function addBackupCommands(program: Command, shell: Shell): void {
  const backups = program
    .command('backup')
    .description('write the database, the keys and the local authority to a new file; the server may run')
    .argument('<file>', '- for standard output')
    .option('--every <hours>', 'how often you make backups, so that a late one raises an alarm')
    .option('--database-only', 'leave out the keys and the authority, and name what to keep in another place')
    .action((file: string, { databaseOnly = false, every }: { databaseOnly?: boolean; every?: string }) => {
      const everyMs = parseEvery(every);
      return withState(shell, (state, settings) =>
        noting(state, everyMs, () => backup(shell, state, settings, file, databaseOnly)),
      );
    });
  backups
    .command('verify')
    .description('read a backup, compare its checksum, and restore it into memory; needs no server')
    .argument('<file>')
    .action((file: string) => verify(shell, file));
  program
    .command('restore')
    .description('restore a backup into an empty folder or database; stop the server first')
    .argument('<file>')
    .option(
      '--without-keys',
      'the keys are lost: give tunnels new tokens (the old ones work for a day) and issue new certificates',
    )
    .action((file: string, { withoutKeys = false }: { withoutKeys?: boolean }) => restore(shell, file, withoutKeys));
}

function parseEvery(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new ServerError('usage', `--every "${text}" must be hours, from 1 to 9999`);
  return Number(text) * hourMs;
}

/** Keeps the result for metrics and status. After a failure the earlier backup is still the last one. */
async function noting({ store, clock }: State, everyMs: number | undefined, make: () => Promise<void>): Promise<void> {
  const before = await readBackupNote(store.db);
  try {
    await make();
    const madeAtMs = clock();
    await noteBackup(store.db, { madeAtMs, ...(everyMs === undefined ? {} : { dueAtMs: madeAtMs + everyMs }) });
  } catch (error) {
    const failure = { error: error instanceof Error ? error.message.slice(0, 200) : String(error), failedAtMs: clock() };
    // The database may be what failed.
    await noteBackup(store.db, { ...before, ...failure }).catch(() => {});
    throw error;
  }
}

async function backup({ io }: Shell, { store }: State, settings: Settings, file: string, databaseOnly: boolean): Promise<void> {
  const readFiles = databaseOnly ? async () => [] : () => readHomeFiles(settings);
  await usingFile(file, () =>
    file === '-' ? printStore(store, (line) => io.stdout.write(line), readFiles) : dumpStore(store, file, readFiles),
  );
  const files = await readFiles();
  const names = ['the database', ...files.map((each) => each.file)];
  const output = file === '-' ? io.stderr : io.stdout;
  output.write(`wrote ${file}: ${names.join(', ')}\n${await renderKeepsakes(settings, files)}`);
}

const checksumless = 'it is of an earlier version and has no checksum: a changed byte would not show';

async function verify({ io }: Shell, file: string): Promise<void> {
  const { rows, files, hasChecksum } = await usingFile(file, () => checkBackup(file));
  const { openSqliteStore } = await import('@underpass/control/platform/store/sqlite.ts');
  const store = await openSqliteStore(':memory:');
  try {
    await usingFile(file, () => restoreStore(store, file));
  } finally {
    await store.close();
  }
  const names = ['the database', ...files].join(', ');
  io.stdout.write(`${file} is whole: ${names}; ${rows} rows can be restored\n${hasChecksum ? '' : `${checksumless}\n`}`);
}

async function readHomeFiles({ home, masterKey }: Settings): Promise<readonly KeptFile[]> {
  const names = keptNames.filter((name) => name !== 'keys' || masterKey === undefined);
  const read = await Promise.all(names.map(async (file) => ({ file, text: await readIfThere(join(home, file)) })));
  return read.flatMap(({ file, text }) => (text === undefined ? [] : [{ file, text }]));
}

/** What a restore on another machine needs in addition to the backup, and how to treat the backup. */
async function renderKeepsakes({ home, masterKey }: Settings, files: readonly KeptFile[]): Promise<string> {
  const secret = files.length === 0 ? '' : 'anyone who can read this file can read every secret in it\n';
  if (masterKey === undefined && files.length > 0) return secret;
  const key = masterKey === undefined ? keyFile(home) : 'UNDERPASS_MASTER_KEY';
  const isPinned = files.length === 0 && (await readIfThere(join(home, 'ca.pem'))) !== undefined;
  const pinned = isPinned
    ? `and ${join(home, 'ca.pem')} and ${join(home, 'ca-key.pem')}: clients trust that authority by its fingerprint\n`
    : '';
  return `keep ${key} too, in another place: without it the secrets in the backup cannot be decrypted\n${pinned}${secret}`;
}

async function restore(shell: Shell, file: string, withoutKeys: boolean): Promise<void> {
  let undo = async (): Promise<void> => {};
  const place = async (settings: Settings): Promise<void> => {
    const { hasChecksum } = await usingFile(file, () => checkBackup(file));
    if (!hasChecksum) shell.io.stderr.write(`warning: ${checksumless}\n`);
    undo = await placeFiles(settings, file, withoutKeys);
  };
  try {
    await withState(shell, (state, settings) => restoreRows(shell, state, settings, file, withoutKeys), place);
  } catch (error) {
    await undo();
    throw error;
  }
}

/** Puts the backup's files into the home folder. Returns what removes everything that this restore has made there. */
async function placeFiles(settings: Settings, file: string, withoutKeys: boolean): Promise<() => Promise<void>> {
  const { home, databaseUrl } = settings;
  const wanted = await filesToWrite(settings, file, withoutKeys);
  await openHome(home);
  const made =
    databaseUrl !== undefined || hasDatabase(home) ? [] : ['', '-wal', '-shm'].map((end) => `${databasePath(home)}${end}`);
  if ((await readIfThere(keyFile(home))) === undefined) made.push(keyFile(home));
  const undo = async (): Promise<void> => {
    for (const path of made) await rm(path, { force: true });
  };
  for (const each of wanted) {
    const path = join(home, each.file);
    made.push(path);
    await writeWhole(path, each.text);
  }
  return undo;
}

async function filesToWrite({ home, masterKey }: Settings, file: string, withoutKeys: boolean): Promise<readonly KeptFile[]> {
  const wanted: KeptFile[] = [];
  for (const each of await usingFile(file, () => readKeptFiles(file))) {
    if (!keptNames.some((name) => name === each.file) || typeof each.text !== 'string')
      throw new ServerError('refused', `${file} has an unknown file ${JSON.stringify(each.file)}. Nothing was restored`);
    if (each.file === 'keys' && (withoutKeys || masterKey !== undefined)) continue;
    const there = await readIfThere(join(home, each.file));
    if (there !== undefined && there.trim() !== each.text.trim())
      throw new ServerError('refused', `${join(home, each.file)} is not the backup's. Nothing was restored. Use an empty folder`);
    if (there === undefined) wanted.push(each);
  }
  return wanted;
}

async function restoreRows({ io }: Shell, state: State, settings: Settings, file: string, withoutKeys: boolean): Promise<void> {
  const { store, keyRing, clock } = state;
  await usingFile(file, () =>
    restoreStore(store, file, async (trx) => {
      if (withoutKeys) await giveUpSealed(trx, keyRing, clock());
      else await expectKeys(trx, state, settings);
    }),
  );
  io.stdout.write(`restored ${file}\n`);
  io.stderr.write(await renderLostAuthority(store, settings));
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

/** A server without the authority of its certificates makes another one, which no client knows. */
async function renderLostAuthority({ db }: Store, { home }: Settings): Promise<string> {
  const local = await db.selectFrom('certificates').select('issuer').where('issuer', 'like', 'local:%').executeTakeFirst();
  if (local === undefined) return '';
  const ca = await readIfThere(join(home, 'ca.pem'));
  if (ca !== undefined && local.issuer === `local:${fingerprintOf(ca)}`) return '';
  return `warning: put ca.pem and ca-key.pem of the backed-up server into ${home}, or its clients will not trust this one\n`;
}

async function usingFile<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const told = translateFault(error);
    if (told instanceof ServerError) throw told;
    const why = error instanceof Error ? error.message : String(error);
    if (error instanceof StoreNotEmpty)
      throw new ServerError(
        'refused',
        `${why}. Nothing was restored. Use an empty folder (UNDERPASS_HOME) or database (DATABASE_URL)`,
      );
    throw new ServerError('file-unusable', `${file}: ${why}`, { cause: error });
  }
}
