// The rows of alerts: reads what is open, writes what changes, and shows one as the API and webhooks tell it.

import type { Alert } from '@underpass/rules/entity/resource.ts';
import {
  type AlertEnd,
  type AlertFacts,
  type AlertKind,
  alertKinds,
  describeAlert,
  toneOf,
} from '@underpass/rules/tunnel/alert.ts';
import { isoTime } from '../platform/store/iso-time.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Queries } from '../platform/store/store.ts';
import { recordAlert } from '../request/caller/alert.ts';
import type { AlertStep, KnownAlert } from './core/next-alerts.ts';

export const factsOf = ({ facts }: Pick<Schema['alerts'], 'facts'>): AlertFacts => JSON.parse(facts) as AlertFacts;

/** A row of a kind that only a newer control knows is left to that one. */
export const isKnownKind = (kind: string): kind is AlertKind => Object.hasOwn(alertKinds, kind);

/** The alerts that are not closed, by project. */
export async function readOpen(db: Queries, kinds: readonly AlertKind[]): Promise<ReadonlyMap<string, readonly KnownAlert[]>> {
  const rows = await db.selectFrom('alerts').selectAll().where('closed_at', 'is', null).where('kind', 'in', kinds).execute();
  const known = rows.map((row) => ({
    ...{ projectId: row.project_id, id: row.id, facts: factsOf(row), about: row.about },
    ...{ observedAt: row.observed_at, openedAt: row.opened_at },
  }));
  return Map.groupBy(known, ({ projectId }) => projectId);
}

const close = (trx: Queries, { id }: KnownAlert, ended: AlertEnd | null, nowMs: number) =>
  trx.updateTable('alerts').set({ closed_at: nowMs, ended }).where('id', '=', id).where('closed_at', 'is', null).execute();

/** The id of an alert that opened or closed; undefined if there is nothing to tell. */
export async function applyStep(trx: Queries, projectId: string, step: AlertStep, nowMs: number): Promise<string | undefined> {
  switch (step.step) {
    case 'observe':
      await recordAlert(trx, projectId, step.facts, nowMs);
      return undefined;
    case 'open': {
      const { known, facts } = step;
      if (known === undefined) return recordAlert(trx, projectId, facts, nowMs, nowMs);
      const set = {
        opened_at: nowMs,
        facts: JSON.stringify(facts),
        ...('once' in alertKinds[facts.kind] && { closed_at: nowMs }),
      };
      await trx.updateTable('alerts').set(set).where('id', '=', known.id).where('opened_at', 'is', null).execute();
      return known.id;
    }
    case 'close':
      await close(trx, step.known, step.end, nowMs);
      return step.known.id;
    case 'drop':
      await trx.deleteFrom('alerts').where('id', '=', step.known.id).where('opened_at', 'is', null).execute();
      return undefined;
  }
}

export const readAlerts = async (trx: Queries, ids: readonly string[]): Promise<readonly Schema['alerts'][]> =>
  ids.length === 0 ? [] : trx.selectFrom('alerts').selectAll().where('id', 'in', ids).orderBy('id').execute();

/** Shows a row that has been opened. */
export function toAlert(row: Schema['alerts']): Alert {
  const { cause: _cause, person: _person, inRegion: _reach, affected: _affected, total: _total, ...facts } = factsOf(row);
  const state = row.closed_at === null ? 'open' : 'closed';
  const { title, text } = describeAlert(factsOf(row), row.ended ?? undefined);
  return {
    ...{ ...facts, id: row.id, state, tone: toneOf(facts.kind, state), title, text },
    ...{ openedAt: isoTime(row.opened_at ?? row.observed_at), closedAt: row.closed_at === null ? null : isoTime(row.closed_at) },
  };
}
