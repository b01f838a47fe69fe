// One domain by its name (spec 2, Domain detail).
import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import type { Domain } from '@underpass/rules/entity/entity.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { type LoaderFunctionArgs, useLoaderData, useParams } from 'react-router';
import { answers } from '../../api/answers.ts';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { PageHeader } from '../../ui/page-header.tsx';
import { useBack } from './back.ts';
import { DeleteDomain } from './delete-domain.tsx';
import { askDomainDns } from './dns-record-view.tsx';
import { VerificationCard } from './verification-card.tsx';
import { VerifiedBadge } from './verified-badge.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  const input = { project: params.projectID!, apexName: params.name! };
  const domain = later(callApi(domainCalls.getDomain, input, { signal: request.signal }));
  void answers.askAhead(askDomainDns(input.project, input.apexName), request.signal);
  return { domain };
}

export function Component() {
  const { domain } = useLoaderData<typeof loader>();
  const { name = '' } = useParams();
  const back = useBack(paths.domains(useProject().id));
  const header = <PageHeader title={name} back={back} />;
  return (
    <Load promise={domain} fallbackHeader={header} failedHeader={header} thing={{ name, list: back, listLabel: 'Domains' }}>
      {(loaded) => <DomainView domain={loaded} back={back} />}
    </Load>
  );
}

function DomainView({ domain, back }: { readonly domain: Domain; readonly back: string }) {
  const project = useProject();
  return (
    <>
      <PageHeader
        title={domain.apexName}
        back={back}
        badges={<VerifiedBadge verified={domain.verified} />}
        actions={may(project.role, 'domain.delete') && <DeleteDomain domain={domain} />}
      />
      {domain.verified ? (
        <p className="max-w-2xl text-ink-soft">
          This domain is verified. Tunnels in this project can use it and its subdomains. Keep the TXT record: we check it again
          every day.
        </p>
      ) : (
        <div className="max-w-3xl">
          <VerificationCard domain={domain} />
        </div>
      )}
    </>
  );
}
