// A tab of a policy: a card with what was given out under it, each revoked after a question.

import { type ReactNode, useState } from 'react';
import { useRevalidator } from 'react-router';
import { FetchedRows } from '../../api/fetched-rows.tsx';
import type { Fetched } from '../../api/use-fetched.ts';
import { askColumn } from '../../form/ask-column.tsx';
import { useConfirm } from '../../form/use-confirm.tsx';
import { Card } from '../../ui/card.tsx';
import { DataTable, type DataTableProps } from '../../ui/table/data-table.tsx';

interface RevocableCardProps<Row> extends Pick<DataTableProps<Row>, 'columns' | 'searchText' | 'noun' | 'initialSort'> {
  /** Plural: `Share links`. */
  readonly title: string;
  readonly description: string;
  readonly actions?: ReactNode;
  readonly emptyText: string;
  readonly fetched: Fetched<readonly Row[]>;
  readonly readOnly: boolean;
  /** The question before a row is revoked, and the call that does it. */
  readonly revoking: (row: Row) => { readonly title: string; readonly warning: string; readonly revoke: () => Promise<unknown> };
  /** What opens over the page. */
  readonly children?: ReactNode;
}

export function RevocableCard<Row extends { readonly id: string; readonly name: string }>(props: RevocableCardProps<Row>) {
  const { title, description, actions, emptyText, fetched, columns, readOnly, revoking, children, ...table } = props;
  const { ask, dialog } = useConfirm();
  const button = askColumn<Row>(ask, 'Revoke', '6rem', (row) => {
    const { title, warning, revoke } = revoking(row);
    return {
      of: `Revoke ${row.name}`,
      title,
      warning: `${warning} This operation is permanent.`,
      confirmLabel: 'Revoke',
      work: async () => {
        await revoke();
        fetched.reload();
      },
      done: `${row.name} revoked.`,
    };
  });
  return (
    <Card title={title} description={description} actions={actions} flush>
      <div className="border-t">
        <FetchedRows fetched={fetched} what={title.toLowerCase()} emptyText={emptyText}>
          {(rows) => (
            <DataTable
              label={title}
              bare
              columns={readOnly ? columns : [...columns, button]}
              rows={rows}
              rowKey={({ id }) => id}
              {...table}
            />
          )}
        </FetchedRows>
      </div>
      {children}
      {dialog}
    </Card>
  );
}

/** The panel that makes a row, and what it made, which is shown once. */
export function useCreated<Created>({ reload }: Pick<Fetched<unknown>, 'reload'>) {
  const { revalidate } = useRevalidator();
  const [open, onOpenChange] = useState(false);
  const [created, setCreated] = useState<Created>();
  const onCreated = (one: Created) => {
    onOpenChange(false);
    setCreated(one);
    reload();
    revalidate();
  };
  return { panel: { open, onOpenChange, onCreated }, created, forget: () => setCreated(undefined) };
}
