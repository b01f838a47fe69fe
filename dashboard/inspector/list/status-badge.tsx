// The status of an answer. A ring means that the request is still open.
import type { ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';
import { Badge } from '../../ui/badge.tsx';
import { statusOf } from './rows.ts';

export function StatusBadge({ exchange, note }: { readonly exchange: ExchangeSummary; readonly note?: string | undefined }) {
  const { text, tone } = statusOf(exchange);
  return (
    <Badge tone={tone} dot={exchange.state === 'open' ? 'ring' : undefined} className="tabular">
      <span>
        {text}
        {note && exchange.state !== 'failed' && <span className="max-sm:hidden"> {note}</span>}
      </span>
    </Badge>
  );
}
