// The entries of an audit log, newest first. A button loads older ones.
import type { AuditEntry, AuditPage } from '@underpass/rules/resource.ts';
import { text } from '@underpass/rules/text.ts';
import { useState } from 'react';
import { messageOf } from '../../api/error.ts';
import { useTask } from '../../api/use-task.ts';
import { Banner } from '../../ui/banner.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { Button } from '../../ui/button.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { DateTime, dateWidth } from '../../ui/date-time.tsx';
import type { Column } from '../../ui/table-view.tsx';
import { describeDetail } from './audit-detail.ts';
import { withNewest } from './audit-page.ts';

export interface AuditListProps {
  readonly first: AuditPage;
  /** Loads the page after the one with this `next`. */
  readonly ask: (before: string) => Promise<AuditPage>;
}

export function AuditList({ first, ask }: AuditListProps) {
  const [known, setKnown] = useState(first);
  const { entries, next } = withNewest(known, first);
  const task = useTask(async () => {
    const older = await ask(next ?? '');
    setKnown({ entries: [...entries, ...older.entries], next: older.next });
  });
  return (
    <div className="grid gap-4">
      <DataTable label="Audit log" wide columns={COLUMNS} rows={entries} rowKey={(entry) => entry.id} />
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

const COLUMNS: readonly Column<AuditEntry>[] = [
  { key: 'at', header: 'When', width: dateWidth, cell: ({ at }) => <DateTime at={at} style="short" /> },
  { key: 'actor', header: 'Who', width: 'minmax(0, 1fr)', cell: ({ actor }) => <Breakable text={actor} /> },
  { key: 'action', header: 'Action', cell: ({ action }) => <span className="font-mono text-sm">{action}</span> },
  { key: 'target', header: 'What', width: 'minmax(0, 1.6fr)', cell: (entry) => <What entry={entry} /> },
  {
    key: 'address',
    header: 'From',
    width: 'minmax(0, 0.8fr)',
    cell: ({ address }) => address && <span className="font-mono text-sm">{address}</span>,
  },
];

function What({ entry }: { readonly entry: AuditEntry }) {
  const detail = describeDetail(entry.detail);
  return (
    <span className="grid">
      <span className="font-semibold">
        <Breakable text={entry.target} />
      </span>
      {detail && (
        <span className="text-sm text-ink-soft">
          <Breakable text={detail} />
        </span>
      )}
    </span>
  );
}
