// The audit log of a project: who did what, when and from where.
import { urlOf } from '@underpass/rules/api/call.ts';
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import { Download } from 'lucide-react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { callApi } from '../../api/request.ts';
import { useProject } from '../../session/session.ts';
import { buttonClass } from '../../ui/button.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { auditFilterOf } from '../audit/audit-filter.ts';
import { AuditLog } from '../audit/audit-log.tsx';
import { useWhoOptions } from '../audit/who-options.ts';

export function loader({ params, request }: LoaderFunctionArgs) {
  const filter = auditFilterOf(new URL(request.url).searchParams, Date.now());
  return { page: later(callApi(projectCalls.listAudit, { project: params.projectID!, ...filter }, { signal: request.signal })) };
}

export function Component() {
  const { page } = useLoaderData<typeof loader>();
  const project = useProject();
  const who = useWhoOptions(project.id);
  const exportLink = (
    <a href={urlOf(projectCalls.exportAudit, { project: project.id })} download className={buttonClass('secondary')}>
      <Download aria-hidden="true" />
      Export CSV
    </a>
  );
  return (
    <>
      <PageHeader wide title="Audit log" subtitle={`Every change in ‘${project.name}’.`} actions={exportLink} />
      <AuditLog
        log="project"
        who={who}
        page={page}
        about="Changes to tunnels, domains, security groups, members and tokens appear here."
      />
    </>
  );
}
