// The list of requests as a grid with one tab stop. It renders the rows in view only, and stays where it is when newer rows arrive.
// biome-ignore-all lint/a11y/useSemanticElements: the rows of a table cannot be windowed, so this is a grid of divs.
// biome-ignore-all lint/a11y/useFocusableInteractive: the rows have the focus, not their cells.
import type { ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';
import clsx from 'clsx';
import { ArrowUp } from 'lucide-react';
import {
  type KeyboardEvent,
  type RefObject,
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../core/format.ts';
import { rowsInView, scrollToRow, type Viewport } from '../core/rows-in-view.ts';
import { columns, RequestRow, wideGrid } from './request-row.tsx';

/** The width from which on a row is one line of columns. */
const widePx = 880;
const wideRowPx = 40;
const narrowRowPx = 60;

interface RequestListProps {
  readonly exchanges: readonly ExchangeSummary[];
  readonly selectedId: number | undefined;
  readonly showHost: boolean;
  /** `move`: the keyboard passes over the row. `enter`: the person wants to read it. */
  readonly onOpen: (id: number, how: 'click' | 'move' | 'enter') => void;
  /** Puts the focus back on the row that the Tab key reaches. */
  readonly focusRef: RefObject<(() => void) | null>;
}

export function RequestList({ exchanges, selectedId, showHost, onOpen, focusRef }: RequestListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [viewport, setViewport] = useState<Viewport & { readonly width: number }>({ scrollTop: 0, height: 800, width: 0 });
  const wide = viewport.width >= widePx;
  const rowHeight = wide ? wideRowPx : narrowRowPx;
  const [stopId, setStopId] = useState<number>();
  const stopIndex = Math.max(
    0,
    exchanges.findIndex(({ id }) => id === (stopId ?? selectedId)),
  );
  useMeasure(scroller, setViewport);
  useEffect(() => {
    if (selectedId !== undefined) setStopId(selectedId);
  }, [selectedId]);
  useKeepPosition(scroller, exchanges, rowHeight, stopId === undefined ? undefined : stopIndex);
  useShowSelected(scroller, exchanges, selectedId, rowHeight);
  const newer = useNewer(exchanges, viewport.scrollTop);
  const focusRow = useFocusRow(scroller, rowHeight);
  useEffect(() => {
    focusRef.current = () => focusRow(stopIndex);
  }, [focusRef, focusRow, stopIndex]);

  const openByClick = useCallback(
    (id: number) => {
      setStopId(id);
      onOpen(id, 'click');
    },
    [onOpen],
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const current = exchanges[stopIndex];
    if (current === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      return onOpen(current.id, 'enter');
    }
    const next = exchanges[nextIndex(event.key, stopIndex, exchanges.length, Math.floor(viewport.height / rowHeight))];
    if (next === undefined) return;
    event.preventDefault();
    setStopId(next.id);
    focusRow(exchanges.indexOf(next));
    onOpen(next.id, 'move');
  };

  const [first, end] = rowsInView(viewport, rowHeight, exchanges.length);
  const indexes = Array.from({ length: end - first }, (_, at) => first + at);
  // The focused row stays, although it is out of view: without it the keyboard would start from the top.
  if (exchanges.length > 0 && (stopIndex < first || stopIndex >= end)) indexes.push(stopIndex);
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div
        role="grid"
        aria-label="Requests"
        aria-rowcount={exchanges.length + 1}
        onKeyDown={onKeyDown}
        className="flex min-h-0 flex-1 flex-col"
      >
        <HeaderRow wide={wide} />
        <div
          ref={scroller}
          role="rowgroup"
          onScroll={(event) => {
            const { scrollTop } = event.currentTarget;
            setViewport((before) => ({ ...before, scrollTop }));
          }}
          className="min-h-0 flex-1 overflow-y-auto overscroll-contain [overflow-anchor:none]"
        >
          <div
            role="presentation"
            className="relative overflow-hidden transition-none"
            style={{ height: exchanges.length * rowHeight }}
          >
            {indexes.map((index) => {
              const exchange = exchanges[index]!;
              return (
                <RequestRow
                  key={exchange.id}
                  exchange={exchange}
                  index={index}
                  height={rowHeight}
                  wide={wide}
                  isSelected={exchange.id === selectedId}
                  isStop={index === stopIndex}
                  showHost={showHost}
                  onOpen={openByClick}
                />
              );
            })}
          </div>
        </div>
      </div>
      {newer > 0 && (
        <div className="pointer-events-none absolute inset-x-0 top-2 flex justify-center">
          <Button
            size="sm"
            icon={<ArrowUp aria-hidden="true" />}
            className="pointer-events-auto shadow-overlay"
            onClick={() => scroller.current?.scrollTo({ top: 0 })}
          >
            {countOf(newer, 'new request')}
          </Button>
        </div>
      )}
    </div>
  );
}

function HeaderRow({ wide }: { readonly wide: boolean }) {
  return (
    <div role="rowgroup" className={wide ? 'border-b' : 'sr-only'}>
      <div role="row" aria-rowindex={1} className={clsx('h-9 text-sm font-semibold text-ink-soft', wide && wideGrid)}>
        {columns.map((name) => (
          <div key={name} role="columnheader" className={/Duration|Size|Time/.test(name) ? 'text-right' : undefined}>
            {name}
          </div>
        ))}
      </div>
    </div>
  );
}

function nextIndex(key: string, from: number, count: number, page: number): number {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: from + 1,
    ArrowUp: from - 1,
    PageDown: from + page,
    PageUp: from - page,
    Home: 0,
    End: count - 1,
  };
  const next = steps[key];
  return next === undefined ? -1 : Math.min(Math.max(0, next), count - 1);
}

function useMeasure(
  scroller: RefObject<HTMLElement | null>,
  setViewport: (change: (before: Viewport & { readonly width: number }) => Viewport & { readonly width: number }) => void,
): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const measure = () => setViewport((before) => ({ ...before, height: element.clientHeight, width: element.clientWidth }));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller, setViewport]);
}

/**
 * Rows that arrive above the view move the scroll position by their height; at the top, they push the others down. Where the height of
 * the rows changes, the row of the keyboard stays in view.
 */
function useKeepPosition(
  scroller: RefObject<HTMLElement | null>,
  exchanges: readonly ExchangeSummary[],
  rowHeight: number,
  stopIndex: number | undefined,
): void {
  const before = useRef({ exchanges, rowHeight });
  const onChange = useEffectEvent((element: HTMLElement, old: readonly ExchangeSummary[], oldHeight: number) => {
    const { scrollTop, clientHeight } = element;
    if (rowHeight !== oldHeight && stopIndex !== undefined) {
      element.scrollTop = scrollToRow({ scrollTop, height: clientHeight }, rowHeight, stopIndex);
    } else if (scrollTop > 0) {
      const at = Math.floor(scrollTop / oldHeight);
      const now = exchanges.findIndex(({ id }) => id === old[at]?.id);
      if (now >= 0) element.scrollTop += now * rowHeight - at * oldHeight;
    }
  });
  useLayoutEffect(() => {
    const last = before.current;
    before.current = { exchanges, rowHeight };
    if (scroller.current !== null) onChange(scroller.current, last.exchanges, last.rowHeight);
  }, [scroller, exchanges, rowHeight]);
}

/** A request that opens scrolls its row into view; later changes of the list do not. */
function useShowSelected(
  scroller: RefObject<HTMLElement | null>,
  exchanges: readonly ExchangeSummary[],
  selectedId: number | undefined,
  rowHeight: number,
): void {
  const shown = useRef<string>(undefined);
  useLayoutEffect(() => {
    const element = scroller.current;
    const row = exchanges.findIndex(({ id }) => id === selectedId);
    const place = `${selectedId} ${rowHeight}`;
    if (element === null || row < 0 || shown.current === place) return;
    shown.current = place;
    element.scrollTop = scrollToRow({ scrollTop: element.scrollTop, height: element.clientHeight }, rowHeight, row);
  }, [scroller, exchanges, selectedId, rowHeight]);
}

/** How many requests arrived since the list was last at its top. */
function useNewer(exchanges: readonly ExchangeSummary[], scrollTop: number): number {
  const [seen, setSeen] = useState(0);
  const newest = exchanges[0]?.id ?? 0;
  if (scrollTop === 0 && seen !== newest) setSeen(newest);
  return exchanges.findIndex(({ id }) => id <= seen);
}

/** The row may have to scroll into view, and render, before it can have the focus. */
function useFocusRow(scroller: RefObject<HTMLDivElement | null>, rowHeight: number): (index: number) => void {
  return useCallback(
    (index) => {
      const element = scroller.current;
      if (element === null) return;
      element.scrollTop = scrollToRow({ scrollTop: element.scrollTop, height: element.clientHeight }, rowHeight, index);
      requestAnimationFrame(() =>
        element.querySelector<HTMLElement>('[role="row"][tabindex="0"]')?.focus({ preventScroll: true }),
      );
    },
    [scroller, rowHeight],
  );
}
