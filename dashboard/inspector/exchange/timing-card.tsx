// Where the time went: one bar, and the parts with their times below it.
import type { Exchange } from '@underpass/rules/inspect/exchange.ts';
import clsx from 'clsx';
import { Card } from '../../ui/card.tsx';
import { formatDuration } from '../core/format.ts';
import { describeTiming, type TimingPart, timingParts } from '../core/timing.ts';

/** A part is at least this wide, so that a short one can be seen. */
const leastPercent = 0.6;

const colours: Readonly<Record<string, string>> = {
  Edge: 'bg-info',
  Tunnel: 'bg-accent',
  Connect: 'bg-ink-faint',
  Send: 'bg-ok/45',
  Wait: 'bg-ok',
  Receive: 'bg-ok/70',
};

const sides = { edge: 'Edge', tunnel: 'Tunnel', upstream: 'Upstream' } as const;

export function TimingCard({ exchange }: { readonly exchange: Exchange }) {
  const parts = timingParts(exchange.timing);
  if (parts.length === 0) return null;
  return (
    <Card
      title="Timing"
      description={exchange.state !== 'open' && exchange.kind !== 'websocket' && describeTiming(exchange.timing, parts)}
      actions={exchange.durationMs !== null && <Total ms={exchange.durationMs} />}
    >
      <div aria-hidden="true" className="flex h-3 gap-px overflow-hidden rounded-sm bg-sunken">
        {parts.map(({ label, ms }) => (
          <span key={label} className={colours[label]} style={{ flexGrow: ms, flexBasis: `${leastPercent}%`, flexShrink: 0 }} />
        ))}
      </div>
      <div className="mt-3 flex flex-wrap gap-x-8 gap-y-3">
        {(['edge', 'tunnel', 'upstream'] as const).map((side) => (
          <Side key={side} name={sides[side]} parts={parts.filter((part) => part.side === side)} />
        ))}
      </div>
    </Card>
  );
}

const Total = ({ ms }: { readonly ms: number }) => <span className="text-lg font-bold tabular">{formatDuration(ms)}</span>;

function Side({ name, parts }: { readonly name: string; readonly parts: readonly TimingPart[] }) {
  if (parts.length === 0) return null;
  return (
    <div>
      <h3 className="text-xs font-semibold text-ink-soft">{name}</h3>
      <dl className="flex flex-wrap gap-x-5">
        {parts.map(({ label, ms }) => (
          <div key={label} className="flex items-baseline gap-1.5 text-sm">
            <span aria-hidden="true" className={clsx('size-2.5 self-center rounded-[2px]', colours[label])} />
            <dt className={parts.length === 1 ? 'sr-only' : 'text-ink-soft'}>{label}</dt>
            <dd className="font-semibold tabular">{formatDuration(ms)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
