// How to prove ownership of a domain, and the button that checks it (spec 2, Domain detail). Checks again by itself.
import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import type { Domain } from '@underpass/rules/entity/entity.ts';
import { verificationRecord } from '@underpass/rules/names/dns-record.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { isTemporary, messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { everMoreRarely, useAgain } from '../../api/use-again.ts';
import { useTask } from '../../api/use-task.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { DnsRecordView } from './dns-record-view.tsx';

export function VerificationCard({ domain }: { readonly domain: Domain }) {
  const project = useProject();
  const mayVerify = may(project.role, 'domain.verify');
  const { revalidate } = useRevalidator();
  const [stopped, setStopped] = useState(false);
  const verify = async (background: boolean): Promise<boolean> => {
    const input = { project: project.id, apexName: domain.apexName };
    const { verified } = await callApi(domainCalls.verifyDomain, input, { background });
    if (verified) toast.done(`Domain ${domain.apexName} verified.`);
    if (verified) await revalidate();
    return verified;
  };
  const task = useTask(async () => {
    if (await verify(false)) return;
    toast.failed(
      `Domain ${domain.apexName} is not verified yet.`,
      'The TXT record was not found. DNS changes can take up to 48 hours.',
    );
    await revalidate();
  });
  /** A failure that only the person can mend shows when they press Refresh. */
  const verifyAgain = () => {
    if (!task.busy) verify(true).catch((error: unknown) => setStopped(!isTemporary(error)));
  };
  useAgain(verifyAgain, mayVerify && !stopped ? everMoreRarely : undefined);
  const refresh = mayVerify && (
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
        <DnsRecordView record={verificationRecord(domain.challenge)} zone={domain.apexName} checksAgain={mayVerify && !stopped} />
      </div>
    </Card>
  );
}
