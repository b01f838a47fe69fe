// A table with search, sorting and rows that open a page; cards in a narrow place. 2,000 rows stay smooth because the browser skips
// layout and paint of rows out of view (content-visibility), and React renders a row again only when its data changes.
// CSS lays it out as a grid; assistive technology sees a table.
import clsx from 'clsx';
import { ArrowDown, ArrowUp, Search } from 'lucide-react';
import { type CSSProperties, type MouseEvent, memo, type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { Input } from './input.tsx';
import { nextSort, type Sort, selectRows } from './table-rows.ts';

export interface Column<Row> {
  readonly key: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** The value to sort by. Without it the column cannot sort. */
  readonly sortBy?: (row: Row) => string | number;
  /** A CSS grid track; the default is minmax(0, 1fr). */
  readonly width?: string;
  readonly align?: 'end';
  /** Only screen readers get the header. */
  readonly hideHeader?: boolean;
  /** In the upper corner of a card: a menu button. */
  readonly corner?: boolean;
  /** Hidden in cards. */
  readonly wideOnly?: boolean;
}

export interface DataTableProps<Row> {
  /** Names the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** The page that a click on the row opens. The first cell contains the link, for the keyboard. */
  readonly rowTo?: (row: Row) => string;
  /** The text of a row to search in. Without it there is no search. */
  readonly searchText?: (row: Row) => string;
  /** The rows in one word, plural: 'tunnels'. */
  readonly noun?: string;
  readonly initialSort?: Sort;
  /** No border of its own: the card around it has one. */
  readonly bare?: boolean;
  /** The columns need much width: a medium width shows cards. */
  readonly wide?: boolean;
}

/** From this many rows on, the browser skips rows out of view. */
const SKIP_FROM_ROWS = 100;
/** The height of a card's or a one-line row's content, for rows that the browser has not laid out yet. */
const SKIPPED = '[content-visibility:auto] [contain-intrinsic-size:auto_9rem] columns:[contain-intrinsic-size:auto_35px]';
/** Shorter lists need no search field. */
const SEARCH_FROM_ROWS = 8;

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, rowKey, rowTo, searchText, noun = 'rows', bare = false, wide = false } = props;
  const [query, setQuery] = useState('');
  const [sort, setSort] = useState<Sort | undefined>(props.initialSort);
  const deferredQuery = useDeferredValue(query);
  const shown = useMemo(
    () => selectRows(rows, { query: deferredQuery, searchText, sort, sortBy: columns.find((c) => c.key === sort?.key)?.sortBy }),
    [rows, deferredQuery, searchText, sort, columns],
  );
  const searchable = searchText !== undefined && (rows.length >= SEARCH_FROM_ROWS || query !== '');
  const template = columns.map((column) => column.width ?? 'minmax(0, 1fr)').join(' ');
  return (
    <div data-wide={wide || undefined} className="@container/table grid grid-cols-1 gap-3">
      {searchable && (
        <div className={clsx('flex flex-wrap items-center gap-3', bare && 'px-4 pt-4 sm:px-5')}>
          <SearchField label={`Search ${noun}`} value={query} onChange={setQuery} />
          <p role="status" className="ml-auto text-sm text-ink-soft tabular">
            {`${shown.length === rows.length ? '' : `${shown.length} of `}${rows.length} ${noun}`}
          </p>
        </div>
      )}
      <table
        aria-label={label}
        style={{ '--columns': template } as CSSProperties}
        className={clsx('block', !bare && 'rounded-lg border bg-surface')}
      >
        <HeaderRow columns={columns} sort={sort} onSort={(key) => setSort(nextSort(sort, key))} />
        <tbody className="block">
          {shown.map((row) => (
            <BodyRow
              key={rowKey(row)}
              row={row}
              columns={columns as readonly Column<unknown>[]}
              to={rowTo?.(row)}
              skips={shown.length >= SKIP_FROM_ROWS}
            />
          ))}
          {shown.length === 0 && <NothingFound columns={columns.length} text={`No ${noun} match “${query}”.`} />}
        </tbody>
      </table>
    </div>
  );
}

function SearchField({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <div className="relative w-full sm:w-72">
      <Search aria-hidden="true" className="pointer-events-none absolute top-3 left-3 size-4 text-ink-faint" />
      <Input
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="pl-9"
      />
    </div>
  );
}

const GRID = 'grid grid-cols-1 columns:grid-cols-(--columns) columns:gap-x-4 px-4 sm:px-5';

function HeaderRow<Row>({
  columns,
  sort,
  onSort,
}: {
  readonly columns: readonly Column<Row>[];
  readonly sort: Sort | undefined;
  readonly onSort: (key: string) => void;
}) {
  return (
    <thead className="block cards:sr-only">
      <tr className={clsx(GRID, 'border-b text-sm font-semibold text-ink-soft')}>
        {columns.map((column) => (
          <th
            scope="col"
            key={column.key}
            aria-sort={ariaSort(column, sort)}
            className={clsx('flex h-10 items-center', column.align === 'end' && 'justify-end')}
          >
            {column.sortBy ? (
              <SortButton
                header={column.header}
                direction={sort?.key === column.key ? sort.direction : undefined}
                onClick={() => onSort(column.key)}
              />
            ) : (
              <span className={column.hideHeader ? 'sr-only' : undefined}>{column.header}</span>
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function ariaSort<Row>(column: Column<Row>, sort: Sort | undefined): 'ascending' | 'descending' | 'none' | undefined {
  if (!column.sortBy) return undefined;
  return sort?.key === column.key ? sort.direction : 'none';
}

function SortButton({
  header,
  direction,
  onClick,
}: {
  readonly header: string;
  readonly direction: Sort['direction'] | undefined;
  readonly onClick: () => void;
}) {
  const Arrow = direction === 'descending' ? ArrowDown : ArrowUp;
  return (
    <button
      type="button"
      onClick={onClick}
      className="group -mx-1.5 inline-flex h-8 items-center gap-1 rounded-sm px-1.5 hover:bg-hover hover:text-ink"
    >
      {header}
      <Arrow
        aria-hidden="true"
        className={clsx('size-3.5', direction ? 'text-accent-ink' : 'opacity-0 group-hover:opacity-60')}
      />
    </button>
  );
}

interface BodyRowProps {
  readonly row: unknown;
  readonly columns: readonly Column<unknown>[];
  readonly to: string | undefined;
  readonly skips: boolean;
}

const BodyRow = memo(function BodyRow({ row, columns, to, skips }: BodyRowProps) {
  const navigate = useNavigate();
  const open = (event: MouseEvent) => {
    if (to !== undefined && !isInteractive(event)) navigate(to);
  };
  return (
    <tr
      onClick={open}
      className={clsx(
        GRID,
        'relative border-b py-3 last:rounded-b-lg last:border-b-0 columns:min-h-13 columns:items-center columns:py-2',
        skips && SKIPPED,
        to !== undefined && 'cursor-pointer hover:bg-hover',
      )}
    >
      {columns.map((column, index) => (
        <td
          key={column.key}
          className={clsx(
            'min-w-0 wrap-anywhere cards:flex cards:items-baseline cards:gap-3 cards:py-0.5 cards:has-[>div:empty]:hidden',
            column.align === 'end' && 'columns:text-right',
            column.wideOnly && 'cards:hidden',
            column.corner && 'cards:absolute cards:top-2 cards:right-3',
            index === 0 && columns.some(({ corner }) => corner) && 'cards:pr-9',
          )}
        >
          {index > 0 && (
            <span
              aria-hidden="true"
              className={clsx(
                'w-28 shrink-0 text-sm text-ink-faint columns:hidden',
                column.hideHeader && 'invisible',
                column.corner && 'hidden',
              )}
            >
              {column.header}
            </span>
          )}
          {index === 0 && to !== undefined ? (
            <Link to={to} className="font-semibold underline-offset-4 hover:underline">
              {column.cell(row)}
            </Link>
          ) : (
            <div className="min-w-0">{column.cell(row)}</div>
          )}
        </td>
      ))}
    </tr>
  );
});

/** A click on a link or button in the row, and selecting text, must not open the row. */
function isInteractive(event: MouseEvent): boolean {
  const inside = (event.target as Element).closest('a, button, input, [role="menu"]') !== null;
  return inside || getSelection()?.isCollapsed === false || event.metaKey || event.ctrlKey;
}

function NothingFound({ columns, text }: { readonly columns: number; readonly text: string }) {
  return (
    <tr className="block px-5 py-8 text-center text-ink-soft">
      <td colSpan={columns}>{text}</td>
    </tr>
  );
}
