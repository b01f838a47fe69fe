// The audit log of a project or of the service: its filter and its entries. The filter is part of the URL, so it can be shared.
import type { AuditPage } from '@underpass/rules/entity/resource.ts';
import { useSearchParams } from 'react-router';
import { Load } from '../../api/load.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NothingHereIllustration } from '../../ui/illustrations/nothing-here.tsx';
import { AuditFilterForm, type AuditFilterFormProps } from './audit-filter-form.tsx';
import { AuditList, type AuditListProps } from './audit-list.tsx';

export interface AuditLogProps extends Pick<AuditFilterFormProps, 'example'>, Pick<AuditListProps, 'ask'> {
  readonly first: Promise<AuditPage>;
  /** The text for a log without entries. */
  readonly about: string;
}

export function AuditLog({ first, ask, about, example }: AuditLogProps) {
  const [search] = useSearchParams();
  const key = search.toString();
  const nothing = [...search.values()].some(Boolean)
    ? { title: 'No Entries Found', text: 'Change or clear the filter.' }
    : { title: 'No Entries', text: about };
  return (
    <div className="grid gap-4">
      <AuditFilterForm search={search} example={example} />
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
