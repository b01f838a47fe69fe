// The sealed texts of webhooks: their addresses and secrets.

import type { KeyRing } from '../../platform/secret/key-ring.ts';
import type { Queries } from '../../platform/store/store.ts';
import { webhookContext } from './rows.ts';

const columns = ['url_sealed', 'secret_sealed', 'old_secret_sealed'] as const;

interface SealedText {
  readonly id: string;
  readonly column: (typeof columns)[number];
  readonly sealed: string;
}

export async function readSealedWebhooks(db: Queries): Promise<readonly SealedText[]> {
  const rows = await db
    .selectFrom('alert_webhooks')
    .select(['project_id', ...columns])
    .execute();
  return rows.flatMap((row) =>
    columns.flatMap((column): SealedText[] => {
      const sealed = row[column];
      return sealed === null ? [] : [{ id: row.project_id, column, sealed }];
    }),
  );
}

/** Does nothing if the text was changed in the meantime. */
export async function resealWebhooks(db: Queries, keyRing: KeyRing): Promise<number> {
  const stale = (await readSealedWebhooks(db)).filter(({ sealed }) => keyRing.isStale(sealed));
  for (const { id, column, sealed } of stale) {
    const text = keyRing.seal(keyRing.open(sealed, webhookContext(id)), webhookContext(id));
    await db
      .updateTable('alert_webhooks')
      .set({ [column]: text })
      .where('project_id', '=', id)
      .where(column, '=', sealed)
      .execute();
  }
  return stale.length;
}

/** Forgets webhooks whose key is lost: owners set them again. */
export async function giveUpWebhooks(trx: Queries, keyRing: KeyRing): Promise<void> {
  const lost = (await readSealedWebhooks(trx)).filter(({ sealed }) => !keyRing.canOpen(sealed));
  for (const { id } of lost)
    for (const table of ['alert_webhooks', 'alert_deliveries'] as const)
      await trx.deleteFrom(table).where('project_id', '=', id).execute();
}
