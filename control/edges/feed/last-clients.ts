// Keeps the last client of each tunnel in the store. Rows are written when a client comes or goes or meets another error, at the
// next flush: never for each report.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LastClient } from '@underpass/rules/entity/resource.ts';
import { piecesOf } from '../../platform/store/pieces.ts';
import type { Queries, Store } from '../../platform/store/store.ts';

/** One transaction: short, because the embedded database does one thing at a time. */
const rowsAtOnce = 50;

interface LiveClients {
  lastClient(tunnelId: string): LastClient;
  clientCount(tunnelId: string): number;
}

const timeOf = (iso: string | undefined): number => (iso === undefined ? 0 : Date.parse(iso));

const columnsOf = ({ seen, error, left }: LastClient) => ({
  seen_at: timeOf(seen?.at),
  address: seen?.address ?? '',
  left_at: left === undefined ? null : timeOf(left.at),
  on_purpose: left?.onPurpose ? (1 as const) : (0 as const),
  error_code: error?.code ?? '',
  error_address: error?.address ?? '',
  error_at: timeOf(error?.at),
});

export class LastClients {
  readonly #store: Store;
  readonly #live: LiveClients;
  readonly #moved = new Set<string>();
  /** What decides whether a row must be written, as it was last written. One short text for each tunnel that had a client. */
  readonly #written = new Map<string, string>();

  constructor(store: Store, live: LiveClients) {
    this.#store = store;
    this.#live = live;
  }

  /** Edges reported something new about these tunnels. */
  moved(tunnelIds: Iterable<string>): void {
    for (const id of tunnelIds) this.#moved.add(id);
  }

  forget(tunnelIds: readonly string[]): void {
    for (const id of tunnelIds) {
      this.#moved.delete(id);
      this.#written.delete(id);
    }
  }

  /** `ending`: also notes of connected clients that they are there now. */
  async flush(ending: boolean): Promise<void> {
    const asked = [...(ending ? new Set([...this.#moved, ...this.#written.keys()]) : this.#moved)];
    this.#moved.clear();
    const changed = asked.filter((id) => this.#isNew(id, ending));
    for (const some of piecesOf(changed, rowsAtOnce)) {
      await this.#write(some).catch((error) => {
        this.moved(changed);
        throw error;
      });
      await nextTurn();
    }
  }

  #stateOf(id: string): string {
    const { left, error } = this.#live.lastClient(id);
    return `${this.#live.clientCount(id) > 0} ${left?.at ?? ''} ${error?.code ?? ''}`;
  }

  #isNew(id: string, ending: boolean): boolean {
    const { seen, error } = this.#live.lastClient(id);
    if (seen === null && error === null) return false;
    return this.#written.get(id) !== this.#stateOf(id) || (ending && this.#live.clientCount(id) > 0);
  }

  async #write(ids: readonly string[]): Promise<void> {
    const states = ids.map((id) => [id, this.#stateOf(id)] as const);
    await this.#store.write(async (trx) => {
      for (const id of ids) await writeOne(trx, id, columnsOf(this.#live.lastClient(id)));
    });
    for (const [id, state] of states) this.#written.set(id, state);
  }
}

/** Passes over a tunnel that is deleted by now. A refusal must not make a client that was seen before unseen. */
async function writeOne(trx: Queries, tunnelId: string, columns: ReturnType<typeof columnsOf>): Promise<void> {
  const { seen_at, address, left_at, on_purpose, ...error } = columns;
  const set = {
    ...(seen_at > 0 && { seen_at, address, left_at, on_purpose }),
    ...(error.error_code !== '' && error),
  };
  await trx
    .insertInto('last_clients')
    .columns(['tunnel_id', ...(Object.keys(columns) as (keyof typeof columns)[])])
    .expression((eb) =>
      eb
        .selectFrom('tunnels')
        .select((each) => [
          'id',
          ...(Object.keys(columns) as (keyof typeof columns)[]).map((name) => each.val(columns[name]).as(name)),
        ])
        .where('id', '=', tunnelId),
    )
    .onConflict((conflict) => conflict.column('tunnel_id').doUpdateSet(set))
    .execute();
}
