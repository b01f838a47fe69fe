// The audit log of the service: sign-ins, and changes to people, subscriptions and regions. Projects have their own logs.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { callApi } from '../../api/request.ts';
import { PageHeader } from '../../ui/page-header.tsx';
import { AuditLog } from '../audit/audit-log.tsx';
import { auditFilterOf } from '../audit/audit-page.ts';

export function loader({ request }: LoaderFunctionArgs) {
  const filter = auditFilterOf(new URL(request.url).searchParams);
  return { first: later(callApi(operatorCalls.listServiceAudit, { ...filter }, { signal: request.signal })), filter };
}

export function Component() {
  const { first, filter } = useLoaderData<typeof loader>();
  return (
    <>
      <PageHeader
        title="Audit log"
        subtitle="Sign-ins, and changes to people, subscriptions and regions. Each project has its own log."
      />
      <AuditLog
        first={first}
        ask={(before) => callApi(operatorCalls.listServiceAudit, { ...filter, before })}
        example="session.create"
        about="Sign-ins, and changes to people, subscriptions and regions appear here."
      />
    </>
  );
}
