// The entries of a log, newest first. A button loads older ones.
import { text } from '@underpass/rules/text/text.ts';
import { useState } from 'react';
import { messageOf } from '../../api/error.ts';
import { useTask } from '../../api/use-task.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { type LogPage, withNewest } from './audit-page.ts';

export interface LogListProps<Entry> {
  readonly label: string;
  readonly columns: readonly Column<Entry>[];
  readonly first: LogPage<Entry>;
  /** Loads the page after the one with this `next`. */
  readonly ask: (before: string) => Promise<LogPage<Entry>>;
}

export function LogList<Entry extends { readonly id: string }>({ label, columns, first, ask }: LogListProps<Entry>) {
  const [known, setKnown] = useState(first);
  const { entries, next } = withNewest(known, first);
  const task = useTask(async () => {
    const older = await ask(next ?? '');
    setKnown({ entries: [...entries, ...older.entries], next: older.next });
  });
  return (
    <div className="grid gap-4">
      <DataTable label={label} wide columns={columns} rows={entries} rowKey={(entry) => entry.id} />
      {task.error !== undefined && <Banner tone="danger">{messageOf(task.error) ?? text.error.fallback}</Banner>}
      <p role="status" className="sr-only">
        {entries.length} entries shown
      </p>
      {next !== null && (
        <Button busy={task.busy} onClick={() => task.run()} className="justify-self-center">
          Show older entries
        </Button>
      )}
    </div>
  );
}
