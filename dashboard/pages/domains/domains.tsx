// The domains of a project (spec 2, Domains list).

import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import type { Domain } from '@underpass/rules/entity/entity.ts';
import { domainList } from '@underpass/rules/list/list-page.ts';
import { verificationRecord } from '@underpass/rules/names/dns-record.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { text } from '@underpass/rules/text/text.ts';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { loadPage } from '../../api/load-page.ts';
import { PagedList } from '../../list/paged-list.tsx';
import { newDomainParam } from '../../routing/paths.ts';
import { useLinkedPanel } from '../../routing/use-linked-panel.ts';
import { useProject } from '../../session/session.ts';
import { AddButton } from '../../ui/add-button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NoDomainsIllustration } from '../../ui/illustrations/no-domains.tsx';
import { lazyOverlay } from '../../ui/lazy-part.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { openColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { VerifiedBadge } from './verified-badge.tsx';

const AddDomainDialog = lazyOverlay('The form', () =>
  import('./add-domain-dialog.tsx').then(({ AddDomainDialog }) => AddDomainDialog),
);

export function loader({ params, request }: LoaderFunctionArgs) {
  return { page: loadPage(request, domainCalls.listDomains, domainList, { project: params.projectID! }) };
}

export function Component() {
  const { page } = useLoaderData<typeof loader>();
  const project = useProject();
  const { isOpen, setOpen } = useLinkedPanel(newDomainParam);
  const add = may(project.role, 'domain.create') && <AddButton onClick={() => setOpen(true)}>Add Domain</AddButton>;
  return (
    <>
      <PageHeader
        wide
        title="Domains"
        subtitle="Domains that this project owns. Its tunnels can use them and their subdomains."
        actions={add}
      />
      <PagedList
        promise={page}
        empty={
          <EmptyState
            title={text.domains.emptyTitle}
            text={text.domains.empty}
            action={add}
            illustration={<NoDomainsIllustration />}
          />
        }
        label="Domains"
        columns={columns}
        rules={domainList}
        rowKey={(domain) => domain.apexName}
        rowTo={(domain) => encodeURIComponent(domain.apexName)}
        noun="domains"
      />
      <AddDomainDialog open={isOpen} onOpenChange={setOpen} />
    </>
  );
}

const columns: readonly Column<Domain>[] = [
  {
    key: 'domain',
    header: 'Domain',
    width: 'minmax(0, 1.2fr)',
    cell: (domain) => domain.apexName,
  },
  {
    key: 'status',
    header: 'Status',
    width: '8rem',
    card: 'beside',
    cell: (domain) => <VerifiedBadge verified={domain.verified} />,
  },
  {
    key: 'challenge',
    header: 'DNS TXT Record Challenge',
    width: 'minmax(0, 2fr)',
    card: 'wide',
    cell: (domain) => <Challenge domain={domain} />,
  },
  openColumn,
];

function Challenge({ domain }: { readonly domain: Domain }) {
  const { value } = verificationRecord(domain.challenge);
  return (
    <span className="flex items-center gap-1">
      <span className="min-w-0 truncate font-mono text-sm" title={value}>
        {value}
      </span>
      <CopyButton text={value} what={`TXT record of ${domain.apexName}`} />
    </span>
  );
}
