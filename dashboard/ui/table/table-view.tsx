// A table whose rows open a page; cards in a narrow place. CSS lays it out as a grid; assistive technology sees a table.
// Searching and sorting are not done here: data-table.tsx does both in the browser, paged-table.tsx lets the server do it.
import clsx from 'clsx';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type CSSProperties, type MouseEvent, memo, type ReactNode } from 'react';
import { Link, useNavigate } from 'react-router';
import type { Sort } from './table-rows.ts';

/** A column; `sortBy` is for tables that sort in the browser. */
export interface Column<Row> {
  readonly key: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** The value to sort by. */
  readonly sortBy?: (row: Row) => string | number;
  /** A CSS grid track; the default is minmax(0, 1fr). */
  readonly width?: string;
  readonly align?: 'end';
  /** Only screen readers get the header. */
  readonly hideHeader?: boolean;
  /**
   * Where cards show it: right of the name, with or without its header; below the name, cut to one line, or over the whole width;
   * at the end of that line. Absent: in a line of its own, after its header.
   */
  readonly card?: 'beside' | 'below' | 'wide' | 'end' | 'labelled-beside' | 'corner' | 'hidden';
}

export interface TableProps<Row> {
  /** Names the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  /** The page that a click on the row opens. The first cell contains the link, for the keyboard. */
  readonly rowTo?: (row: Row) => string;
  /** The rows in one word, plural: 'tunnels'. */
  readonly noun?: string;
  /** No border of its own: the card around it has one. */
  readonly bare?: boolean;
  /** The columns need much width: a medium width shows cards. */
  readonly wide?: boolean;
}

interface TableViewProps<Row> extends TableProps<Row> {
  readonly rows: readonly Row[];
  readonly sort: Sort | undefined;
  readonly canSort: (column: Column<Row>) => boolean;
  readonly onSort: (key: string) => void;
  readonly toolbar?: ReactNode;
  /** What the rows are an answer to. The rows of another answer are new ones: none moves to another place. */
  readonly asked?: string;
  /** Stands in for the rows if there are none. */
  readonly nothing?: ReactNode;
}

export function TableView<Row>({ toolbar, nothing, asked, bare = false, wide = false, ...table }: TableViewProps<Row>) {
  const { label, columns, rows, rowKey, rowTo } = table;
  const template = columns.map((column) => column.width ?? 'minmax(0, 1fr)').join(' ');
  return (
    <div data-wide={wide || undefined} className="@container/table grid grid-cols-1 gap-3">
      {toolbar}
      <table
        aria-label={label}
        style={{ '--columns': template } as CSSProperties}
        className={clsx('block', !bare && 'rounded-lg border bg-surface')}
      >
        <HeaderRow {...table} />
        <tbody key={asked} className="block">
          {rows.map((row) => (
            <BodyRow
              key={rowKey(row)}
              row={row}
              columns={columns as readonly Column<unknown>[]}
              to={rowTo?.(row)}
              skips={rows.length >= skipFromRows}
            />
          ))}
          {rows.length === 0 && (
            <tr className="block px-5 py-8 text-center text-ink-soft">
              <td colSpan={columns.length}>{nothing}</td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

const columnsClass = 'columns:grid columns:grid-cols-(--columns) columns:gap-x-4 px-4 sm:px-5';

function HeaderRow<Row>({ columns, sort, canSort, onSort }: TableViewProps<Row>) {
  return (
    <thead className="block cards:sr-only">
      <tr className={clsx('grid', columnsClass, 'border-b text-sm font-semibold text-ink-soft')}>
        {columns.map((column) => {
          const direction = sort?.key === column.key ? sort.direction : undefined;
          return (
            <th
              scope="col"
              key={column.key}
              aria-sort={canSort(column) ? (direction ?? 'none') : undefined}
              className={clsx('flex h-10 items-center', column.align === 'end' && 'justify-end')}
            >
              {canSort(column) ? (
                <SortButton header={column.header} direction={direction} onClick={() => onSort(column.key)} />
              ) : (
                <span className={column.hideHeader ? 'sr-only' : undefined}>{column.header}</span>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

interface SortButtonProps {
  readonly header: string;
  readonly direction: Sort['direction'] | undefined;
  readonly onClick: () => void;
}

function SortButton({ header, direction, onClick }: SortButtonProps) {
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

/** The number of rows from which the browser skips rows out of view. */
const skipFromRows = 100;
/** The height of a card's or a one-line row's content, for rows that the browser has not laid out yet. */
const skipped = '[content-visibility:auto] [contain-intrinsic-size:auto_9rem] columns:[contain-intrinsic-size:auto_35px]';

interface BodyRowProps {
  readonly row: unknown;
  readonly columns: readonly Column<unknown>[];
  readonly to: string | undefined;
  readonly skips: boolean;
}

/** Renders again only when its data changes. */
const BodyRow = memo(function BodyRow({ row, columns, to, skips }: BodyRowProps) {
  const navigate = useNavigate();
  const open = (event: MouseEvent) => {
    if (to !== undefined && !isInteractive(event)) navigate(to);
  };
  return (
    <tr
      onClick={open}
      className={clsx(
        columnsClass,
        'relative border-b py-2.5 last:rounded-b-lg last:border-b-0 columns:min-h-13 columns:items-center columns:py-2',
        'cards:grid cards:grid-cols-[minmax(0,1fr)_auto_auto] cards:items-center cards:gap-x-3 slim:block',
        skips && skipped,
        to !== undefined && 'cursor-pointer hover:bg-hover',
      )}
    >
      {columns.map((column, index) => {
        const isName = index === 0;
        const place = isName ? namePlace(columns) : places[column.card ?? 'line'];
        return (
          <td
            key={column.key}
            className={clsx(
              'min-w-0 wrap-anywhere',
              column.align === 'end' && 'columns:text-right',
              place,
              column.card !== 'hidden' && 'slim:block slim:text-left',
            )}
          >
            <Cell column={column} row={row} to={isName ? to : undefined} isName={isName} />
          </td>
        );
      })}
    </tr>
  );
});

interface CellProps extends Omit<BodyRowProps, 'columns' | 'skips'> {
  readonly column: Column<unknown>;
  readonly isName: boolean;
}

function Cell({ column, row, to, isName }: CellProps) {
  const content = column.cell(row);
  if (to !== undefined) {
    return (
      <Link to={to} className="font-semibold underline-offset-4 hover:underline">
        {content}
      </Link>
    );
  }
  if (isName || (column.card !== undefined && column.card !== 'labelled-beside')) return content;
  return (
    <>
      <CardLabel column={column} />
      {column.card === undefined ? <div className="min-w-0">{content}</div> : content}
    </>
  );
}

function CardLabel({ column }: { readonly column: Column<unknown> }) {
  return (
    <span
      aria-hidden="true"
      className={clsx(
        'text-sm text-ink-faint columns:hidden',
        column.card === undefined ? 'w-28 shrink-0' : 'mr-1.5',
        column.hideHeader && 'invisible',
      )}
    >
      {column.header}
    </span>
  );
}

const places: Readonly<Record<NonNullable<Column<unknown>['card']> | 'line', string>> = {
  line: 'cards:col-span-3 cards:flex cards:items-baseline cards:gap-3 cards:py-0.5 cards:has-[>div:empty]:hidden',
  beside: 'cards:col-span-2 cards:col-start-2 cards:row-start-1 cards:text-right',
  below: 'cards:col-start-1 cards:row-start-2 cards:truncate cards:[&_wbr]:hidden',
  wide: 'cards:col-span-3',
  end: 'cards:col-span-2 cards:col-start-2 cards:row-start-2 cards:text-right cards:text-sm cards:text-ink-soft',
  'labelled-beside': 'cards:row-start-1 cards:text-right cards:text-sm',
  corner: 'cards:absolute cards:top-2 cards:right-3',
  hidden: 'cards:hidden',
};

function namePlace(columns: readonly Column<unknown>[]): string {
  if (columns.some(({ card }) => card?.endsWith('beside'))) return 'cards:col-start-1 cards:row-start-1';
  return columns.some(({ card }) => card === 'corner') ? 'cards:col-span-3 cards:pr-9' : 'cards:col-span-3';
}

/** A click on a link or button in the row, and selecting text, must not open the row. */
function isInteractive(event: MouseEvent): boolean {
  const inside = (event.target as Element).closest('a, button, input, [role="menu"]') !== null;
  return inside || getSelection()?.isCollapsed === false || event.metaKey || event.ctrlKey;
}
