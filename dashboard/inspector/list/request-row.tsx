// One request in the list: a line of columns in a wide list, else two lines.
// biome-ignore-all lint/a11y/useSemanticElements: the rows of a table cannot be windowed, so this is a grid of divs.
// biome-ignore-all lint/a11y/useFocusableInteractive: the rows have the focus, not their cells.
import type { ExchangeSummary, SignatureOutcome } from '@underpass/rules/inspect/exchange.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import clsx from 'clsx';
import { RotateCcw, ShieldAlert, ShieldCheck } from 'lucide-react';
import { memo, type ReactNode } from 'react';
import { clockOf, durationOf } from './rows.ts';
import { StatusBadge } from './status-badge.tsx';

export const columns = ['Status', 'Method', 'Path', 'Duration', 'Size', 'Visitor', 'Program', 'Time'] as const;
export const wideGrid =
  'grid grid-cols-[5.5rem_4.5rem_minmax(0,1fr)_5rem_9rem_minmax(0,12rem)_minmax(0,12rem)_6rem] items-center gap-x-5 px-4';

interface RequestRowProps {
  readonly exchange: ExchangeSummary;
  /** The place in the list, from 0. */
  readonly index: number;
  readonly height: number;
  readonly wide: boolean;
  readonly isSelected: boolean;
  /** The row that the Tab key reaches. */
  readonly isStop: boolean;
  /** Several hosts are in the list. */
  readonly showHost: boolean;
  readonly onOpen: (id: number) => void;
}

export const RequestRow = memo(function RequestRow(props: RequestRowProps) {
  const { exchange, index, height, wide, isSelected, isStop, onOpen } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles the keys of its rows.
    <div
      role="row"
      data-id={exchange.id}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      tabIndex={isStop ? 0 : -1}
      onClick={() => onOpen(exchange.id)}
      style={{ height, transform: `translateY(${index * height}px)` }}
      className={clsx(
        'absolute inset-x-0 top-0 cursor-pointer border-b transition-none outline-none focus-visible:outline-2 focus-visible:-outline-offset-2 focus-visible:outline-focus',
        wide ? wideGrid : 'flex flex-col justify-center gap-1 px-4',
        isSelected ? 'bg-accent-soft' : 'hover:bg-hover',
      )}
    >
      {wide ? <WideCells {...props} /> : <NarrowCells {...props} />}
    </div>
  );
});

function WideCells({ exchange, showHost }: RequestRowProps) {
  return (
    <>
      <Cell>
        <StatusBadge exchange={exchange} />
      </Cell>
      <Cell className="truncate font-mono text-sm font-semibold">{exchange.method}</Cell>
      <Cell className="flex min-w-0 items-center gap-2">
        <Path exchange={exchange} showHost={showHost} />
      </Cell>
      <Cell className="text-right text-sm tabular">{durationOf(exchange)}</Cell>
      <Cell className="text-right text-sm tabular">
        <Size exchange={exchange} />
      </Cell>
      <Cell className="truncate font-mono text-sm">{exchange.visitorAddress}</Cell>
      <Cell className="truncate text-sm">{exchange.visitorProgram}</Cell>
      <Cell className="text-right text-sm text-ink-soft tabular">{clockOf(exchange.startedAtMs)}</Cell>
    </>
  );
}

function NarrowCells({ exchange, showHost }: RequestRowProps) {
  return (
    <>
      <div role="presentation" className="flex items-center gap-2">
        <Cell className="shrink-0 font-mono text-sm font-semibold">{exchange.method}</Cell>
        <Cell className="flex min-w-0 flex-1 items-center gap-2">
          <Path exchange={exchange} showHost={showHost} />
        </Cell>
        <Cell className="shrink-0">
          <StatusBadge exchange={exchange} />
        </Cell>
      </div>
      <div role="presentation" className="flex min-w-0 gap-3 text-xs text-ink-soft tabular">
        <Cell className="shrink-0">{clockOf(exchange.startedAtMs)}</Cell>
        <Cell className="shrink-0">{durationOf(exchange)}</Cell>
        <Cell className="shrink-0">
          <Size exchange={exchange} />
        </Cell>
        <Cell className="max-w-48 shrink-0 truncate">{exchange.visitorAddress}</Cell>
        <Cell className="min-w-0 truncate">{exchange.visitorProgram}</Cell>
      </div>
    </>
  );
}

/** Both ways. A request without a body, as most are, needs no figure. */
function Size({ exchange: { requestBytes, responseBytes } }: Pick<RequestRowProps, 'exchange'>) {
  if (requestBytes === 0) return <span title="Out">{formatSize(responseBytes)}</span>;
  return (
    <span title="In and out">
      {formatSize(requestBytes)}
      <span aria-hidden="true"> / </span>
      <span className="sr-only"> in, </span>
      {formatSize(responseBytes)}
      <span className="sr-only"> out</span>
    </span>
  );
}

function Cell({ className, children }: { readonly className?: string; readonly children: ReactNode }) {
  return (
    <div role="gridcell" className={className}>
      {children}
    </div>
  );
}

function Path({ exchange, showHost }: Pick<RequestRowProps, 'exchange' | 'showHost'>) {
  return (
    <>
      <span className="min-w-0 truncate font-mono text-sm" title={`${exchange.host}${exchange.target}`}>
        {showHost && <span className="text-ink-soft">{exchange.host}</span>}
        {exchange.target}
      </span>
      <Marks exchange={exchange} />
    </>
  );
}

const kinds: Readonly<Record<ExchangeSummary['kind'], string>> = { http: '', events: 'Events', websocket: 'WebSocket' };

function Marks({ exchange }: Pick<RequestRowProps, 'exchange'>) {
  const kind = kinds[exchange.kind];
  return (
    <span className="flex shrink-0 items-center gap-1.5 text-ink-soft">
      {kind !== '' && <span className="rounded-sm border px-1 text-xs">{kind}</span>}
      {exchange.replayOf !== null && <RotateCcw role="img" aria-label={`Replay of #${exchange.replayOf}`} className="size-3.5" />}
      {exchange.signature !== null && <SignatureMark outcome={exchange.signature} />}
    </span>
  );
}

function SignatureMark({ outcome }: { readonly outcome: SignatureOutcome }) {
  if (outcome === 'unchecked') return null;
  const Icon = outcome === 'valid' ? ShieldCheck : ShieldAlert;
  return (
    <Icon
      role="img"
      aria-label={`Signature ${outcome}`}
      className={clsx('size-3.5', outcome === 'valid' ? 'text-ok' : outcome === 'late' ? 'text-warn' : 'text-danger')}
    />
  );
}
