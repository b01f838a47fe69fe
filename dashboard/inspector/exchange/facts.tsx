// When the request came, from where, and where the client sent it.
import type { Exchange, ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { formatDateTime } from '../../ui/date/date-format.ts';
import { clockOf, durationOf } from '../list/rows.ts';
import { goTo } from '../state/route.ts';

export function Facts({ exchange }: { readonly exchange: ExchangeSummary | Exchange }) {
  const { id, replayOf, startedAtMs, tunnel, host, visitorAddress, visitorProgram, requestBytes, responseBytes } = exchange;
  const startedAt = new Date(startedAtMs).toISOString();
  const visitor = [visitorAddress, visitorProgram].filter(Boolean).join(', ');
  return (
    <div className="overflow-hidden text-sm text-ink-soft">
      <ul className="-ml-4 flex flex-wrap [&>li]:relative [&>li]:pl-4 [&>li]:wrap-anywhere [&>li]:before:absolute [&>li]:before:left-1.5 [&>li]:before:text-ink-faint [&>li]:before:content-['·']">
        <li>#{id}</li>
        {replayOf !== null && (
          <li>
            Replay of{' '}
            <button
              type="button"
              className="rounded-sm font-semibold text-accent-ink underline"
              onClick={() => goTo({ id: replayOf })}
            >
              #{replayOf}
            </button>
          </li>
        )}
        <li>
          <time dateTime={startedAt} title={formatDateTime(startedAt).title}>
            {clockOf(startedAtMs)}
          </time>
        </li>
        <li>{durationOf(exchange)}</li>
        <li title="Bytes of the bodies: sent, received">
          {formatSize(requestBytes)} in, {formatSize(responseBytes)} out
        </li>
        {visitor !== '' && <li>from {visitor}</li>}
        <li>
          for {host}, tunnel {tunnel}
        </li>
        {'upstream' in exchange && exchange.upstream !== '' && (
          <li>
            to {exchange.upstream}
            {exchange.sentHost !== null && ` with Host ${exchange.sentHost}`}
          </li>
        )}
      </ul>
    </div>
  );
}
