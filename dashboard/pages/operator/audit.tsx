// The audit log of the service: sign-ins, and changes to people, subscriptions and regions. Projects have their own logs.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { callApi } from '../../api/request.ts';
import { PageHeader } from '../../ui/page-header.tsx';
import { auditFilterOf } from '../audit/audit-filter.ts';
import { AuditLog } from '../audit/audit-log.tsx';

export function loader({ request }: LoaderFunctionArgs) {
  const filter = auditFilterOf(new URL(request.url).searchParams, Date.now());
  return { page: later(callApi(operatorCalls.listServiceAudit, filter, { signal: request.signal })) };
}

export function Component() {
  const { page } = useLoaderData<typeof loader>();
  return (
    <>
      <PageHeader
        wide
        title="Audit log"
        subtitle="Sign-ins, and changes to people, subscriptions and regions. Each project has its own log."
      />
      <AuditLog log="service" page={page} about="Sign-ins, and changes to people, subscriptions and regions appear here." />
    </>
  );
}
