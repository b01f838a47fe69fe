// How to prove ownership of a domain, and the button that checks it (spec 2, Domain detail).
import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import { verificationRecord } from '@underpass/rules/dns-record.ts';
import type { Domain } from '@underpass/rules/entity.ts';
import { may } from '@underpass/rules/permission.ts';
import { RefreshCw } from 'lucide-react';
import { useRevalidator } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useTask } from '../../api/use-task.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { toast } from '../../ui/toast.tsx';
import { DnsRecordView } from './dns-record-view.tsx';

export function VerificationCard({ domain }: { readonly domain: Domain }) {
  const project = useProject();
  const { revalidate } = useRevalidator();
  const task = useTask(async () => {
    const checked = await callApi(domainCalls.verifyDomain, { project: project.id, apexName: domain.apexName });
    if (checked.verified) toast.done(`Domain ${domain.apexName} verified.`);
    else
      toast.failed(
        `Domain ${domain.apexName} is not verified yet.`,
        'The TXT record was not found. DNS changes can take up to 48 hours.',
      );
    await revalidate();
  });
  const refresh = may(project.role, 'domain.verify') && (
    <Button size="sm" icon={<RefreshCw aria-hidden="true" />} busy={task.busy} onClick={task.run}>
      Refresh
    </Button>
  );
  return (
    <Card title="Domain verification" description="Add a TXT record to prove you own this domain." actions={refresh}>
      <div className="grid gap-4">
        {task.error !== undefined && (
          <Banner tone="danger" title="The domain could not be checked." onDismiss={task.dismiss}>
            {messageOf(task.error)}
          </Banner>
        )}
        <DnsRecordView record={verificationRecord(domain.challenge)} zone={domain.apexName} />
      </div>
    </Card>
  );
}
