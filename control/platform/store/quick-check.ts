// A process of its own: prints what is damaged in the SQLite file named by its argument. Exit code 0: whole, 1: damaged.

import { DatabaseSync } from 'node:sqlite';

// SQLite result codes, the low byte: IOERR, CORRUPT, NOTADB.
const damageCodes = [10, 11, 26];

function findDamage(path: string): string | undefined {
  try {
    const row = new DatabaseSync(path, { readOnly: true }).prepare('pragma quick_check(1)').get();
    const found = String(row?.quick_check);
    return found === 'ok' ? undefined : found;
  } catch (error) {
    const { errcode = 0, message } = error as Error & { readonly errcode?: number };
    if (!damageCodes.includes(errcode & 0xff)) throw error;
    return message;
  }
}

const damage = findDamage(process.argv[2] ?? '');
if (damage !== undefined) {
  process.stdout.write(damage);
  process.exitCode = 1;
}
