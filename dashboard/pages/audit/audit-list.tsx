// The entries of an audit log.
import type { AuditEntry } from '@underpass/rules/entity/resource.ts';
import { Breakable } from '../../ui/breakable.tsx';
import { DateTime, dateWidth } from '../../ui/date-time.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { describeDetail } from './audit-detail.ts';
import { LogList, type LogListProps } from './log-list.tsx';

export type AuditListProps = Pick<LogListProps<AuditEntry>, 'first' | 'ask'>;

export const AuditList = (props: AuditListProps) => <LogList label="Audit log" columns={auditColumns} {...props} />;

const auditColumns: readonly Column<AuditEntry>[] = [
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
