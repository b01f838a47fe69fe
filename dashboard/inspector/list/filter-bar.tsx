// Search, filters, and the actions on the whole list.
import type { ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';
import { Download, Pause, Play, Search, Trash2 } from 'lucide-react';
import { type KeyboardEvent, type RefObject, useEffect } from 'react';
import { IconButton } from '../../ui/button.tsx';
import { Input } from '../../ui/input/input.tsx';
import { Select } from '../../ui/input/select.tsx';
import { type Filter, methodsOf, type StatusFilter } from '../core/filter.ts';

const statuses: readonly { readonly value: StatusFilter; readonly label: string }[] = [
  { value: 'all', label: 'All statuses' },
  { value: 'errors', label: 'Errors' },
  { value: '1', label: '1xx' },
  { value: '2', label: '2xx' },
  { value: '3', label: '3xx' },
  { value: '4', label: '4xx' },
  { value: '5', label: '5xx' },
];

interface FilterBarProps {
  readonly filter: Filter;
  readonly onFilter: (filter: Filter) => void;
  readonly exchanges: readonly ExchangeSummary[];
  readonly isPaused: boolean;
  readonly onPause: (paused: boolean) => void;
  readonly onExport: () => void;
  readonly onClear: () => void;
  /** The client is away, so nothing can be cleared or exported. */
  readonly isAway: boolean;
  readonly searchRef: RefObject<HTMLInputElement | null>;
  /** The search field is left downwards. */
  readonly onLeave: () => void;
}

export function FilterBar(props: FilterBarProps) {
  const { filter, onFilter, exchanges, isPaused, onPause, onExport, onClear, isAway, searchRef, onLeave } = props;
  const isEmpty = exchanges.length === 0;
  return (
    <div className="@container/bar border-b bg-surface px-3 py-2 sm:px-4">
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          searchRef={searchRef}
          value={filter.text}
          onChange={(text) => onFilter({ ...filter, text })}
          onLeave={onLeave}
        />
        <div className="flex @min-[44rem]/bar:order-last @min-[44rem]/bar:ml-auto">
          <IconButton
            label={isPaused ? 'Resume the list' : 'Pause the list'}
            aria-pressed={isPaused}
            icon={isPaused ? <Play aria-hidden="true" /> : <Pause aria-hidden="true" />}
            onClick={() => onPause(!isPaused)}
          />
          <IconButton
            label="Export as HAR"
            disabled={isEmpty || isAway}
            icon={<Download aria-hidden="true" />}
            onClick={onExport}
          />
          <IconButton
            label="Clear the list"
            disabled={isEmpty || isAway}
            icon={<Trash2 aria-hidden="true" />}
            onClick={onClear}
          />
        </div>
        <div className="flex basis-full gap-2 @min-[44rem]/bar:basis-72">
          <Select
            label="Method"
            size="sm"
            className="min-w-32 flex-1"
            value={filter.method}
            options={[
              { value: '', label: 'All methods' },
              ...methodsOf(exchanges, filter.method).map((value) => ({ value, label: value })),
            ]}
            onChange={(method) => onFilter({ ...filter, method })}
          />
          <Select
            label="Status"
            size="sm"
            className="min-w-32 flex-1"
            value={filter.status}
            options={statuses}
            onChange={(status) => onFilter({ ...filter, status })}
          />
        </div>
      </div>
    </div>
  );
}

interface SearchFieldProps extends Pick<FilterBarProps, 'searchRef' | 'onLeave'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function SearchField({ searchRef, value, onChange, onLeave }: SearchFieldProps) {
  useSlashKey(searchRef);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      if (value === '') onLeave();
      onChange('');
    } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
      event.preventDefault();
      onLeave();
    }
  };
  return (
    <div className="relative min-w-44 flex-1">
      <Search aria-hidden="true" className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-faint" />
      <Input
        ref={searchRef}
        type="search"
        aria-label="Search requests"
        aria-keyshortcuts="/"
        placeholder="Search: path, header, body ( / )"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={onKeyDown}
        className="h-8! pl-8 text-sm!"
      />
    </div>
  );
}

/** `/` goes to the search, except while the person types elsewhere. */
function useSlashKey(searchRef: RefObject<HTMLInputElement | null>): void {
  useEffect(() => {
    const onKeyDown = (event: globalThis.KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
      if ((event.target as Element).closest('input, textarea, select, [role="dialog"]')) return;
      const search = searchRef.current;
      if (search === null || search.offsetParent === null) return;
      event.preventDefault();
      search.focus();
      search.select();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [searchRef]);
}
