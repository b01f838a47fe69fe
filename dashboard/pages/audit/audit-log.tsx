// The audit log of a project or of the service: its filter and its entries. The filter is part of the URL, so it can be shared.
import type { AuditEntry, AuditPage } from '@underpass/rules/entity/resource.ts';
import { useSearchParams } from 'react-router';
import { Load } from '../../api/load.tsx';
import { LogTable } from '../../list/log-table.tsx';
import { DateTime, dateWidth } from '../../ui/date/date-time.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { AuditEntryView } from './audit-entry.tsx';
import { filterNames } from './audit-filter.ts';
import { AuditFilterFields, type AuditFilterFieldsProps } from './audit-filter-fields.tsx';

interface AuditLogProps extends AuditFilterFieldsProps {
  readonly page: Promise<AuditPage>;
  /** The text for a log without entries. */
  readonly about: string;
}

export function AuditLog({ page, about, ...filter }: AuditLogProps) {
  const [search] = useSearchParams();
  const nothing = filterNames.some((name) => search.get(name))
    ? { title: 'No Entries Found', text: 'Change or clear the filter.' }
    : { title: 'No Entries', text: about };
  return (
    <div className="grid gap-4">
      <AuditFilterFields {...filter} />
      <Load promise={page} isKept>
        {(loaded) =>
          loaded.entries.length > 0 ? (
            <LogTable label="Audit log" columns={columns} page={loaded} />
          ) : (
            <NothingHere {...nothing} />
          )
        }
      </Load>
    </div>
  );
}

const columns: readonly Column<AuditEntry>[] = [
  { key: 'what', header: 'What happened', width: 'minmax(0, 4fr)', cell: (entry) => <AuditEntryView entry={entry} /> },
  { key: 'at', header: 'When', width: dateWidth, card: 'wide', cell: ({ at }) => <DateTime at={at} style="short" /> },
];
