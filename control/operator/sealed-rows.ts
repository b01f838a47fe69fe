// Every sealed text of the store, by its column: reads them, seals them with the newest key, and gives up those whose key is lost.

import { sql } from 'kysely';
import { webhookContext } from '../alerts/webhook/rows.ts';
import { certificateContext, challengeContext } from '../edges/feed/region-content.ts';
import { ownCertificateContext } from '../edges/own-certificate/own-rows.ts';
import { createPolicyKeys, flowContext, keysContext, providerSecretContext } from '../edges/policies/policy-keys.ts';
import type { KeyRing } from '../platform/secret/key-ring.ts';
import { resealSettings, sealedSettings } from '../platform/secret/sealed-setting.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Queries } from '../platform/store/store.ts';
import { giveUpTunnelToken, tokenContext } from '../tunnels/tunnel/token.ts';

interface SealedColumn {
  readonly table: keyof Schema;
  readonly column: string;
  /** The column that names the row; `id` if missing. */
  readonly key?: string;
  readonly contextOf: (key: string) => string;
  /** Nothing opens a row that has expired. */
  readonly expires?: true;
  /** Replaces a text whose key is lost, or removes what is of no use without it. */
  readonly giveUp: (trx: Queries, key: string, keyRing: KeyRing, nowMs: number) => Promise<unknown>;
}

type Dropped = 'certificates' | 'own_certificates' | 'challenges' | 'access_flows';

const drop =
  (table: Dropped): SealedColumn['giveUp'] =>
  (trx, id) =>
    trx.deleteFrom(table).where('id', '=', id).execute();

async function giveUpWebhook(trx: Queries, projectId: string): Promise<void> {
  for (const table of ['alert_webhooks', 'alert_deliveries'] as const)
    await trx.deleteFrom(table).where('project_id', '=', projectId).execute();
}

const setPolicy = (trx: Queries, id: string, set: Partial<Schema['access_policies']>): Promise<unknown> =>
  trx.updateTable('access_policies').set(set).where('id', '=', id).execute();

const webhook = { table: 'alert_webhooks', key: 'project_id', contextOf: webhookContext, giveUp: giveUpWebhook } as const;

/**
 * What is given up: tunnels get new tokens, and the old ones work for the overlap of a rotation, by their hashes. Upkeep makes new
 * certificates and a new account at the authority, and quick tunnels get new addresses. Visitors sign in again. Owners set webhooks
 * and the secrets of providers again, and projects give their own certificates again.
 */
const columns: readonly SealedColumn[] = [
  {
    ...{ table: 'tunnel_tokens', column: 'token_sealed', contextOf: tokenContext },
    giveUp: (trx, id, keyRing, nowMs) => giveUpTunnelToken(trx, keyRing, id, nowMs),
  },
  { table: 'certificates', column: 'key_sealed', contextOf: certificateContext, giveUp: drop('certificates') },
  { table: 'own_certificates', column: 'key_sealed', contextOf: ownCertificateContext, giveUp: drop('own_certificates') },
  {
    ...{ table: 'challenges', column: 'payload_sealed', expires: true },
    ...{ contextOf: challengeContext, giveUp: drop('challenges') },
  },
  {
    ...{ table: 'access_policies', column: 'keys_sealed', contextOf: keysContext },
    giveUp: (trx, id, keyRing) => setPolicy(trx, id, createPolicyKeys(keyRing, id)),
  },
  {
    ...{ table: 'access_policies', column: 'provider_secret_sealed', contextOf: providerSecretContext },
    giveUp: (trx, id) => setPolicy(trx, id, { provider_secret_sealed: null }),
  },
  { table: 'access_flows', column: 'content_sealed', expires: true, contextOf: flowContext, giveUp: drop('access_flows') },
  { ...webhook, column: 'url_sealed' },
  { ...webhook, column: 'secret_sealed' },
  { ...webhook, column: 'old_secret_sealed' },
];

interface SealedText {
  readonly key: string;
  readonly sealed: string;
}

const readAtOnce = 200;

/** `nowMs`: leaves out rows that have expired by then. */
async function* readColumn(db: Queries, of: SealedColumn, nowMs = 0): AsyncGenerator<SealedText> {
  const [key, column] = [sql.ref(of.key ?? 'id'), sql.ref(of.column)];
  const live = of.expires ? sql`and expires_at > ${nowMs}` : sql``;
  for (let last = ''; ; ) {
    const { rows } = await sql<SealedText>`
      select ${key} as key, ${column} as sealed from ${sql.table(of.table)}
      where ${column} is not null and ${key} > ${last} ${live} order by ${key} limit ${sql.lit(readAtOnce)}`.execute(db);
    yield* rows;
    if (rows.length < readAtOnce) return;
    last = rows.at(-1)!.key;
  }
}

export async function readSealed(db: Queries, nowMs: number): Promise<string[]> {
  const texts = (await sealedSettings(db)).map(({ sealed }) => sealed);
  for (const column of columns) for await (const { sealed } of readColumn(db, column, nowMs)) texts.push(sealed);
  return texts;
}

/** Seals with the newest key what an older one sealed, so that the older keys can be removed. Returns how many it sealed. */
export async function resealAll(db: Queries, keyRing: KeyRing, nowMs: number): Promise<number> {
  let count = await resealSettings(db, keyRing);
  for (const of of columns)
    for await (const { key, sealed } of readColumn(db, of, nowMs)) {
      if (!keyRing.isStale(sealed)) continue;
      const text = keyRing.seal(keyRing.open(sealed, of.contextOf(key)), of.contextOf(key));
      const [keyName, column] = [sql.ref(of.key ?? 'id'), sql.ref(of.column)];
      // Does nothing if the text was changed in the meantime.
      await sql`update ${sql.table(of.table)} set ${column} = ${text} where ${keyName} = ${key} and ${column} = ${sealed}`.execute(
        db,
      );
      count++;
    }
  return count;
}

/** Gives up what keys that are lost for good have sealed. */
export async function giveUpSealed(trx: Queries, keyRing: KeyRing, nowMs: number): Promise<void> {
  for (const column of columns) {
    const lost: string[] = [];
    for await (const { key, sealed } of readColumn(trx, column)) if (!keyRing.canOpen(sealed)) lost.push(key);
    for (const key of lost) await column.giveUp(trx, key, keyRing, nowMs);
  }
  for (const { name } of (await sealedSettings(trx)).filter(({ sealed }) => !keyRing.canOpen(sealed)))
    await trx.deleteFrom('settings').where('name', '=', name).execute();
}
