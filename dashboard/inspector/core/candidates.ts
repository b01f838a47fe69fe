// Requests to compare one with: those that repeat it or that it repeats, then those with its method and path.
import type { ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';

/** A longer list is no choice any more. */
const most = 50;

/** `exchanges`: newest first. */
export function candidatesFor(one: ExchangeSummary, exchanges: readonly ExchangeSummary[]): readonly ExchangeSummary[] {
  const others = exchanges.filter(({ id, status }) => id !== one.id && status !== null);
  return others.toSorted((a, b) => nearness(b, one) - nearness(a, one)).slice(0, most);
}

function nearness(other: ExchangeSummary, one: ExchangeSummary): number {
  if (other.id === one.replayOf || other.replayOf === one.id) return 3;
  if (other.replayOf !== null && other.replayOf === one.replayOf) return 2;
  return other.method === one.method && pathOf(other) === pathOf(one) ? 1 : 0;
}

const pathOf = ({ host, target }: ExchangeSummary): string => host + target.split('?')[0];
