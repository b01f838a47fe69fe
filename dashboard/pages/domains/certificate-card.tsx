// The certificate that the project gave for an ingress domain: what it is, when it ends, and what follows then.
import { certificateCalls } from '@underpass/rules/api/certificate-calls.ts';
import type { IngressDomain, Tunnel } from '@underpass/rules/entity/entity.ts';
import type { OwnCertificate, OwnCertificateState } from '@underpass/rules/entity/resource.ts';
import { delegationRecord } from '@underpass/rules/names/dns-record.ts';
import { isWildcardName } from '@underpass/rules/names/hostname.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { text } from '@underpass/rules/text/text.ts';
import { useState } from 'react';
import { askFor } from '../../api/answers.ts';
import { messageOf } from '../../api/error.ts';
import { Failure } from '../../api/failure.tsx';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useTask } from '../../api/use-task.ts';
import { useConfirm } from '../../form/use-confirm.tsx';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { DateTime } from '../../ui/date/date-time.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import { type CertificateInput, CertificatePanel, fallbackTexts } from './certificate-panel.tsx';
import { DnsRecordView } from './dns-record-view.tsx';

interface CertificateCardProps {
  readonly tunnel: Tunnel;
  readonly domain: IngressDomain;
  /** Asks again how the domain stands. */
  readonly onChange: () => void;
}

export function CertificateCard({ tunnel, domain, onChange }: CertificateCardProps) {
  const project = useProject();
  const input = { project: project.id, name: tunnel.name, host: domain.name };
  const fetched = useFetched(askFor(certificateCalls.getOwnCertificate, input));
  const [isOpen, setOpen] = useState(false);
  const confirm = useConfirm();
  const certificate = fetched.data?.certificate;
  const mayChange = may(project.role, 'tunnel.update');
  const renew = () => {
    fetched.reload();
    onChange();
  };
  const remove = () =>
    confirm.ask({
      title: 'Remove Certificate',
      warning: 'The service gets a certificate from its authority instead. Its key is deleted.',
      confirmLabel: 'Remove',
      work: async () => {
        await callApi(certificateCalls.deleteOwnCertificate, input);
        renew();
      },
      done: 'Certificate removed.',
    });
  return (
    <Card
      title="Certificate"
      description={certificate ? 'Your project gave this certificate.' : 'The service gets a certificate and renews it.'}
      actions={
        fetched.data &&
        mayChange && (
          <>
            <Button size="sm" onClick={() => setOpen(true)}>
              {certificate ? 'Replace' : 'Use your own'}
            </Button>
            {certificate && (
              <Button size="sm" onClick={remove}>
                Remove
              </Button>
            )}
          </>
        )
      }
    >
      {fetched.data && !certificate && isWildcardName(domain.name) && (
        <WildcardHelp domain={domain} record={fetched.data.record} />
      )}
      {fetched.error !== undefined && !fetched.data && (
        <Banner tone="danger">{messageOf(fetched.error) ?? text.error.fallback}</Banner>
      )}
      {certificate && (
        <div className="grid gap-4">
          <Facts certificate={certificate} />
          {certificate.warning !== undefined && <Banner tone="warn">{certificate.warning}</Banner>}
          {mayChange && <Fallback key={String(certificate.fallback)} input={input} certificate={certificate} onSaved={renew} />}
        </div>
      )}
      <CertificatePanel
        input={input}
        replaces={certificate}
        open={isOpen}
        onOpenChange={setOpen}
        onSaved={() => {
          setOpen(false);
          renew();
        }}
      />
      {confirm.dialog}
    </Card>
  );
}

interface WildcardHelpProps {
  readonly domain: IngressDomain;
  readonly record: OwnCertificateState['record'];
}

function WildcardHelp({ domain, record }: WildcardHelpProps) {
  if (record === undefined)
    return (
      <p className="text-ink-soft">
        {domain.verified
          ? 'For a wildcard, the service gets a certificate only where its operator has set that up. Use your own otherwise.'
          : 'Verify the domain first.'}
      </p>
    );
  return (
    <div className="grid gap-4">
      <p>Set this record once, and keep it: it lets the service prove the wildcard each time that it gets a certificate.</p>
      <DnsRecordView record={delegationRecord(record, domain.apexName)} zone={domain.apexName} checksAgain={false} />
    </div>
  );
}

function Facts({ certificate: { names, issuer, keyType, until, fingerprint } }: { readonly certificate: OwnCertificate }) {
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
      <dt className="text-ink-soft">Ends</dt>
      <dd>
        <DateTime at={until} style="short" />
      </dd>
      <dt className="text-ink-soft">Names</dt>
      <dd className="wrap-anywhere">{names.join(', ')}</dd>
      <dt className="text-ink-soft">Issuer</dt>
      <dd className="wrap-anywhere">{issuer}</dd>
      <dt className="text-ink-soft">Key</dt>
      <dd>{keyType}</dd>
      <dt className="text-ink-soft">SHA-256</dt>
      <dd className="font-mono text-sm wrap-anywhere">{fingerprint}</dd>
    </dl>
  );
}

interface FallbackProps {
  readonly input: CertificateInput;
  readonly certificate: OwnCertificate;
  readonly onSaved: () => void;
}

function Fallback({ input, certificate, onSaved }: FallbackProps) {
  const task = useTask(async (fallback: boolean) => {
    await callApi(certificateCalls.changeOwnCertificate, { ...input, payload: { fallback } });
    onSaved();
  });
  return (
    <div className="grid gap-3">
      <Switch {...fallbackTexts} checked={certificate.fallback} disabled={task.busy} onChange={task.run} />
      <Failure task={task} />
    </div>
  );
}
