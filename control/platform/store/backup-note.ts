// What is known of the last backup, in one row: the backup command writes it, metrics and `underpass-server status` read it.

import type { Queries } from './store.ts';

const settingName = 'backup-noted';

export interface BackupNote {
  /** The last one that succeeded. */
  readonly madeAtMs?: number;
  /** When the next one is due, if the operator said how often backups are made. */
  readonly dueAtMs?: number;
  /** The error of the last one, if it failed, and when. */
  readonly error?: string;
  readonly failedAtMs?: number;
}

export async function readBackupNote(db: Queries): Promise<BackupNote | undefined> {
  const row = await db.selectFrom('settings').select('value').where('name', '=', settingName).executeTakeFirst();
  return row === undefined ? undefined : (JSON.parse(row.value) as BackupNote);
}

export async function noteBackup(db: Queries, note: BackupNote): Promise<void> {
  const value = JSON.stringify(note);
  await db
    .insertInto('settings')
    .values({ name: settingName, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
