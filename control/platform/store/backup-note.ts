// What is known of the last backup, in one row: the backup command writes it, metrics and `underpass-server status` read it.

import { readSetting, writeSetting } from './setting.ts';
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

export const readBackupNote = (db: Queries): Promise<BackupNote | undefined> => readSetting<BackupNote>(db, settingName);

export const noteBackup = (db: Queries, note: BackupNote): Promise<void> => writeSetting(db, settingName, note);
