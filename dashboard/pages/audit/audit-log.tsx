// An audit log, of a project or of the service: its filter, which lives in the address so that it can be shared and gone back to,
// and its entries.
import type { AuditPage } from '@underpass/rules/resource.ts';
import { useSearchParams } from 'react-router';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NothingHereIllustration } from '../../ui/illustrations/nothing-here.tsx';
import { Load } from '../../ui/load.tsx';
import { AuditFilterForm, type AuditFilterFormProps } from './audit-filter-form.tsx';
import { AuditList, type AuditListProps } from './audit-list.tsx';

export interface AuditLogProps extends Pick<AuditFilterFormProps, 'example'>, Pick<AuditListProps, 'ask'> {
  readonly first: Promise<AuditPage>;
  /** What will stand here, for a log without entries. */
  readonly about: string;
}

export function AuditLog({ first, ask, about, example }: AuditLogProps) {
  const [search] = useSearchParams();
  const key = search.toString();
  const nothing = [...search.values()].some(Boolean)
    ? { title: 'Nothing Found', text: 'No entry matches the filter.' }
    : { title: 'No Entries', text: about };
  return (
    <div className="grid gap-4">
      <AuditFilterForm key={key} search={search} example={example} />
      <Load promise={first}>
        {(page) =>
          page.entries.length > 0 ? (
            <AuditList key={key} first={page} ask={ask} />
          ) : (
            <EmptyState {...nothing} illustration={<NothingHereIllustration />} />
          )
        }
      </Load>
    </div>
  );
}
