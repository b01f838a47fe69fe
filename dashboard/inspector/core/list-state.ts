// The list of requests, as the client's messages change it. Newest first.
import type { ExchangeSummary, InspectEvent, InspectState } from '@underpass/rules/inspect/exchange.ts';

export interface ListState {
  readonly state: InspectState;
  readonly exchanges: readonly ExchangeSummary[];
}

export const newestFirst = (exchanges: readonly ExchangeSummary[]): readonly ExchangeSummary[] =>
  exchanges.toSorted((a, b) => b.id - a.id);

export function applyEvent(list: ListState, event: InspectEvent): ListState {
  switch (event.kind) {
    case 'exchanges':
      return { ...list, exchanges: merge(list.exchanges, event.exchanges) };
    case 'removed': {
      const gone = new Set(event.ids);
      return { ...list, exchanges: list.exchanges.filter(({ id }) => !gone.has(id)) };
    }
    case 'state':
      return { ...list, state: event.state };
  }
}

function merge(known: readonly ExchangeSummary[], changed: readonly ExchangeSummary[]): readonly ExchangeSummary[] {
  const latest = new Map(changed.map((one) => [one.id, one]));
  const kept = known.map((one) => {
    const next = latest.get(one.id);
    latest.delete(one.id);
    return next ?? one;
  });
  return latest.size === 0 ? kept : newestFirst([...latest.values(), ...kept]);
}
