// The inspector's page: the list of requests, and beside it (on a phone: instead of it) the one that is open.

import { formatSize } from '@underpass/rules/text/size.ts';
import clsx from 'clsx';
import { type RefObject, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { saveFile } from '../api/save-file.ts';
import { useTask } from '../api/use-task.ts';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { clearExchanges, getHar } from './api/calls.ts';
import { ConnectionNotice, FirstConnection } from './connection-notice.tsx';
import { isFiltering, noFilter, selectExchanges } from './core/filter.ts';
import { countOf } from './core/format.ts';
import type { ListState } from './core/list-state.ts';
import { ExchangePane, focusPaneTitle } from './exchange/exchange-pane.tsx';
import { FilterBar } from './list/filter-bar.tsx';
import { NoRequests } from './list/no-requests.tsx';
import { RequestList } from './list/request-list.tsx';
import { goTo, renderRoute, useRoute } from './state/route.ts';
import { useContentSearch } from './state/use-content-search.ts';
import { type Connection, useInspector } from './state/use-inspector.ts';
import { TopBar } from './top-bar.tsx';

const ClearDialog = lazyPart('The question', () => import('./list/clear-dialog.tsx').then(({ ClearDialog }) => ClearDialog));

export function App() {
  const { list: live, connection } = useInspector();
  const [frozen, setFrozen] = useState<ListState>();
  const isPaused = frozen !== undefined;
  return (
    <div className="flex h-dvh flex-col">
      <title>{live === undefined ? 'Inspector · Underpass' : `Inspector · ${hostOf(live)}`}</title>
      <TopBar state={live?.state} connection={connection} isPaused={isPaused} />
      {live === undefined ? (
        <main className="flex min-h-0 flex-1 flex-col">
          <FirstConnection connection={connection} />
        </main>
      ) : (
        <Requests
          live={live}
          shown={frozen ?? live}
          connection={connection}
          isPaused={isPaused}
          onPause={(paused) => setFrozen(paused ? live : undefined)}
        />
      )}
    </div>
  );
}

const hostOf = ({ state }: ListState): string => state.tunnels[0]?.urls[0]?.replace(/^https:\/\//, '') ?? 'Underpass';

interface RequestsProps {
  readonly live: ListState;
  /** The same, or how it was when the person paused it. */
  readonly shown: ListState;
  readonly connection: Connection;
  readonly isPaused: boolean;
  readonly onPause: (paused: boolean) => void;
}

function Requests({ live, shown, connection, isPaused, onPause }: RequestsProps) {
  const route = useRoute();
  const [filter, setFilter] = useState(noFilter);
  const [clearing, setClearing] = useState(false);
  const deferred = useDeferredValue(filter);
  const contents = useContentSearch(filter.text, shown.exchanges);
  const exchanges = useMemo(
    () => selectExchanges(shown.exchanges, deferred, contents.found),
    [shown.exchanges, deferred, contents.found],
  );
  const showHost = useMemo(() => new Set(shown.exchanges.map(({ host }) => host)).size > 1, [shown.exchanges]);
  const searchRef = useRef<HTMLInputElement>(null);
  const focusRef = useRef<(() => void) | null>(null);
  const wantsFocus = useRef(false);
  const open = useOpen(route !== undefined, wantsFocus);
  useFocusListAfter(route !== undefined, focusRef);
  const exporting = useTask(async () => {
    const ids = isFiltering(filter) ? exchanges.map(({ id }) => id) : [];
    saveFile(await getHar(ids, false), 'underpass.har');
  });
  const isAway = connection.kind !== 'live';
  const summary = route && live.exchanges.find(({ id }) => id === route.id);
  return (
    <main className="flex min-h-0 flex-1">
      <section
        aria-label="List of requests"
        className={clsx(
          'min-w-0 flex-col',
          route === undefined ? 'flex flex-1' : 'hidden border-r lg:flex lg:w-[36%] lg:min-w-96 lg:max-w-xl',
        )}
      >
        <FilterBar
          filter={filter}
          onFilter={setFilter}
          exchanges={shown.exchanges}
          isPaused={isPaused}
          onPause={onPause}
          onExport={exporting.run}
          onClear={() => setClearing(true)}
          isAway={isAway}
          searchRef={searchRef}
          onLeave={() => focusRef.current?.()}
        />
        <ConnectionNotice connection={connection} />
        {exporting.error !== undefined && (
          <Banner tone="danger" onDismiss={exporting.dismiss} className="m-3">
            {(exporting.error as Error).message}
          </Banner>
        )}
        <div className={clsx('flex min-h-0 flex-1 flex-col', isAway && 'grayscale')}>
          {shown.exchanges.length === 0 ? (
            <NoRequests state={live.state} />
          ) : exchanges.length === 0 ? (
            <NothingFound isSearching={contents.isSearching} onReset={() => setFilter(noFilter)} searchRef={searchRef} />
          ) : (
            <RequestList exchanges={exchanges} selectedId={route?.id} showHost={showHost} onOpen={open} focusRef={focusRef} />
          )}
        </div>
        <ListFooter live={live} shown={shown} matches={exchanges.length} note={contents.note} />
      </section>
      {route !== undefined && (
        <ExchangePane
          key={route.id}
          route={route}
          summary={summary}
          exchanges={live.exchanges}
          isAway={isAway}
          wantsFocus={wantsFocus}
          onClose={() => goTo(undefined)}
        />
      )}
      {clearing && (
        <ClearDialog
          count={live.exchanges.length}
          onClose={() => setClearing(false)}
          work={async () => {
            await clearExchanges();
            onPause(false);
            goTo(undefined);
          }}
        />
      )}
    </main>
  );
}

/** Lets arrow keys only move along the list while nothing is open. `wantsFocus`: the next request that opens takes the focus. */
function useOpen(isOpen: boolean, wantsFocus: RefObject<boolean>) {
  return useCallback(
    (id: number, how: 'click' | 'move' | 'enter') => {
      if (how === 'move' && !isOpen) return;
      const isShown = renderRoute({ id }) === location.hash;
      wantsFocus.current = how === 'enter' && !isShown;
      if (!isShown) goTo({ id }, { replace: isOpen });
      else if (how === 'enter') focusPaneTitle();
    },
    [isOpen, wantsFocus],
  );
}

/** Moves the focus back to its row, however a request is closed. */
function useFocusListAfter(isOpen: boolean, focusRef: RefObject<(() => void) | null>): void {
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    if (wasOpen.current && !isOpen) focusRef.current?.();
    wasOpen.current = isOpen;
  }, [isOpen, focusRef]);
}

function NothingFound({
  isSearching,
  onReset,
  searchRef,
}: {
  readonly isSearching: boolean;
  readonly onReset: () => void;
  readonly searchRef: RefObject<HTMLInputElement | null>;
}) {
  return (
    <div className="grid flex-1 content-center justify-items-center gap-4 px-4 text-center">
      <p className="text-base text-ink-soft">
        {isSearching ? 'Searching headers and bodies…' : 'No request matches the filter.'}
      </p>
      <Button
        size="sm"
        onClick={() => {
          onReset();
          searchRef.current?.focus();
        }}
      >
        Show all requests
      </Button>
    </div>
  );
}

interface ListFooterProps extends Pick<RequestsProps, 'live' | 'shown'> {
  readonly matches: number;
  /** What the search left out. */
  readonly note: string;
}

function ListFooter({ live, shown, matches, note }: ListFooterProps) {
  const all = shown.exchanges.length;
  const held = live.exchanges.filter(({ id }) => id > (shown.exchanges[0]?.id ?? 0)).length;
  const { keptBytes, maxBytes, dropped } = live.state;
  return (
    <footer className="flex flex-wrap gap-x-4 border-t bg-surface px-4 py-1.5 text-sm text-ink-soft tabular">
      <span>{matches === all ? countOf(all, 'request') : `${matches} of ${countOf(all, 'request')}`}</span>
      {held > 0 && shown !== live && (
        <span className="font-semibold text-warn">{countOf(held, 'newer request')} while paused</span>
      )}
      {note !== '' && <span className="font-semibold text-warn">{note}</span>}
      {dropped > 0 && <span>{countOf(dropped, 'older one')} dropped</span>}
      <span className="ml-auto">
        {formatSize(keptBytes)} of {formatSize(maxBytes)}
      </span>
    </footer>
  );
}
