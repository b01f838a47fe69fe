// The open request: its facts and actions, then what was sent each way.
import type { Exchange, ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';
import clsx from 'clsx';
import { ArrowLeft } from 'lucide-react';
import { type ReactNode, type RefObject, useEffect, useState } from 'react';
import { IconButton } from '../../ui/button.tsx';
import { lazyPart } from '../../ui/lazy-part.tsx';
import { LoadingArea } from '../../ui/spinner.tsx';
import { StatusBadge } from '../list/status-badge.tsx';
import type { Route } from '../state/route.ts';
import { useExchange } from '../state/use-exchange.ts';
import { Actions } from './actions.tsx';
import { Facts } from './facts.tsx';
import { MessageCard } from './message-card.tsx';
import { ErrorNote, SignatureNote } from './notes.tsx';
import { StreamCard } from './stream-card.tsx';
import { TimingCard } from './timing-card.tsx';

const Compare = lazyPart('The comparison', () => import('./compare.tsx').then(({ Compare }) => Compare), <LoadingArea />);

interface ExchangePaneProps {
  readonly route: Route;
  /** Undefined if the list no longer has it. */
  readonly summary: ExchangeSummary | undefined;
  readonly exchanges: readonly ExchangeSummary[];
  readonly isAway: boolean;
  /** The pane takes the focus when it opens. */
  readonly wantsFocus: RefObject<boolean>;
  readonly onClose: () => void;
}

export function ExchangePane({ route, summary, exchanges, isAway, wantsFocus, onClose }: ExchangePaneProps) {
  const [reveal, setReveal] = useState(false);
  const { exchange, error } = useExchange(route.id, summary, reveal);
  const row = exchange ?? summary;
  useFocusOnOpen(wantsFocus);
  return (
    <section
      aria-label="Open request"
      onKeyDown={(event) => event.key === 'Escape' && !event.defaultPrevented && onClose()}
      className="flex min-w-0 flex-1 flex-col"
    >
      <PaneHeader row={row} id={route.id} onClose={onClose}>
        {exchange && (
          <Actions exchange={exchange} isAway={isAway} isRevealed={reveal} isComparing={route.compareWith !== undefined} />
        )}
      </PaneHeader>
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a scrolling area (WCAG 2.1.1).
        tabIndex={0}
        aria-label="Details"
        className={clsx('@container/pane min-h-0 flex-1 overflow-y-auto p-3 outline-offset-[-2px] sm:p-4', isAway && 'grayscale')}
      >
        {route.compareWith !== undefined && row !== undefined ? (
          <Compare exchange={row} withId={route.compareWith} exchanges={exchanges} />
        ) : exchange ? (
          <Details exchange={exchange} isRevealed={reveal} onReveal={setReveal} />
        ) : error === undefined ? (
          <LoadingArea />
        ) : (
          <p className="py-16 text-center text-base text-ink-soft">{(error as Error).message}</p>
        )}
      </section>
    </section>
  );
}

export const focusPaneTitle = (): void => document.querySelector<HTMLElement>('[data-pane-title]')?.focus();

/** Moves the focus into the pane after the Enter key, and where the pane replaces the list. */
function useFocusOnOpen(wantsFocus: RefObject<boolean>): void {
  useEffect(() => {
    if (wantsFocus.current || !matchMedia('(width >= 64rem)').matches) focusPaneTitle();
    wantsFocus.current = false;
  }, [wantsFocus]);
}

interface PaneHeaderProps {
  readonly row: ExchangeSummary | undefined;
  readonly id: number;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

function PaneHeader({ row, id, onClose, children }: PaneHeaderProps) {
  return (
    <div className="grid gap-2 border-b bg-surface px-3 py-2 sm:px-4">
      <div className="flex min-w-0 items-start gap-2">
        <IconButton label="Back to the list" icon={<ArrowLeft aria-hidden="true" />} onClick={onClose} className="-ml-1.5" />
        <h2
          data-pane-title
          tabIndex={-1}
          className="line-clamp-3 min-w-0 flex-1 py-1 font-mono text-base font-semibold wrap-anywhere outline-none"
        >
          {row ? `${row.method} ${row.target}` : `Request #${id}`}
        </h2>
        {row && (
          <span className="mt-1 shrink-0">
            <StatusBadge exchange={row} note={reasonOf(row)} />
          </span>
        )}
      </div>
      {row && <Facts exchange={row} />}
      <div className="flex flex-wrap items-center gap-1.5">{children}</div>
    </div>
  );
}

function reasonOf(row: ExchangeSummary | Exchange): string | undefined {
  return 'response' in row ? row.response?.reason || undefined : undefined;
}

interface DetailsProps {
  readonly exchange: Exchange;
  readonly isRevealed: boolean;
  readonly onReveal: (reveal: boolean) => void;
}

function Details({ exchange, isRevealed, onReveal }: DetailsProps) {
  const secrets = { isRevealed, onReveal };
  return (
    <div className="grid gap-3 sm:gap-4">
      {exchange.error && <ErrorNote error={exchange.error} />}
      {exchange.signatureCheck && <SignatureNote check={exchange.signatureCheck} />}
      <TimingCard exchange={exchange} />
      {exchange.kind !== 'http' && <StreamCard exchange={exchange} />}
      <div className={clsx('grid grid-cols-1 items-start gap-3 sm:gap-4', exchange.response && '@min-[52rem]/pane:grid-cols-2')}>
        <MessageCard side="request" exchange={exchange} {...secrets} />
        {exchange.response && <MessageCard side="response" exchange={exchange} {...secrets} />}
      </div>
    </div>
  );
}
