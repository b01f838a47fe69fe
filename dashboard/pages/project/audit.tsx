// Who did what in a project, when and from where. The filter lives in the address, so that it can be shared and gone back to.
import type { AuditPage } from '@underpass/rules/resource.ts';
import { Download } from 'lucide-react';
import { type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { type AuditFilter, auditExportUrl, listAudit } from '../../api/audit.ts';
import { later } from '../../api/later.ts';
import { NothingHereIllustration } from '../../brand/illustrations/nothing-here.tsx';
import { useProject } from '../../session.ts';
import { buttonClass } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Load } from '../../ui/load.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { AuditFilterForm } from './audit-filter-form.tsx';
import { AuditList } from './audit-list.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  const filter = filterOf(new URL(request.url).searchParams);
  return { first: later(listAudit(params.projectID!, filter, undefined, request.signal)), filter };
}

/** The day that ends the filter is part of it. */
function filterOf(search: URLSearchParams): AuditFilter {
  const from = search.get('from');
  const to = search.get('to');
  return {
    action: search.get('action') || undefined,
    actor: search.get('actor') || undefined,
    from: from ? startOfDay(from) : undefined,
    to: to ? startOfDay(to, 1) : undefined,
  };
}

/** Days are the reader's own. */
function startOfDay(day: string, plusDays = 0): string | undefined {
  const at = new Date(`${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + plusDays);
  return at.toISOString();
}

export function Component() {
  const { first, filter } = useLoaderData<typeof loader>();
  const [search] = useSearchParams();
  const project = useProject();
  const filtered = Object.values(filter).some(Boolean);
  const exportLink = (
    <a href={auditExportUrl(project.id)} download className={buttonClass('secondary')}>
      <Download aria-hidden="true" />
      Export CSV
    </a>
  );
  return (
    <>
      <PageHeader title="Audit log" subtitle={`Every change in ${project.name}.`} actions={exportLink} />
      <div className="grid gap-4">
        <AuditFilterForm key={search.toString()} search={search} />
        <Load promise={first}>
          {(page) => <Entries key={search.toString()} projectId={project.id} filter={filter} page={page} filtered={filtered} />}
        </Load>
      </div>
    </>
  );
}

interface EntriesProps {
  readonly projectId: string;
  readonly filter: AuditFilter;
  readonly page: AuditPage;
  readonly filtered: boolean;
}

function Entries({ projectId, filter, page, filtered }: EntriesProps) {
  if (page.entries.length > 0) return <AuditList projectId={projectId} filter={filter} first={page} />;
  const [title, text] = filtered
    ? ['Nothing Found', 'No entry matches the filter.']
    : ['No Entries', 'Changes to tunnels, domains, security groups, members and tokens appear here.'];
  return <EmptyState title={title} text={text} illustration={<NothingHereIllustration />} />;
}
