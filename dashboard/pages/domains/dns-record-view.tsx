// A DNS record to add, with copy buttons, in the words of the zone's provider.
import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import { adviseRecord, type DnsProviderName, dnsProviders, recordFor } from '@underpass/rules/names/dns-provider.ts';
import { type DnsRecord, propagationNote } from '@underpass/rules/names/dns-record.ts';
import { askFor } from '../../api/answers.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useProject } from '../../session/session.ts';
import { CopyButton } from '../../ui/copy-button.tsx';

interface DnsRecordViewProps {
  readonly record: DnsRecord;
  /** The apex. */
  readonly zone: string;
  /** What a record for visitors points at. */
  readonly dataPlaneHost?: string;
  /** The page looks for the record again by itself. */
  readonly checksAgain: boolean;
}

export const askDomainDns = (project: string, apexName: string) =>
  askFor(domainCalls.getDomainDns, { project, apexName }, { background: true });

/** Undefined without an answer: the record shows as for any provider. */
function useDnsProvider(apexName: string): DnsProviderName | undefined {
  const project = useProject().id;
  const { data } = useFetched(askDomainDns(project, apexName));
  return data?.provider;
}

export function DnsRecordView({ record, zone, dataPlaneHost, checksAgain }: DnsRecordViewProps) {
  const provider = useDnsProvider(zone);
  const shown = recordFor(provider, record);
  return (
    <div className="grid gap-3">
      <p>
        Add this record to the DNS zone of <strong className="font-semibold wrap-anywhere">{zone}</strong>
        {provider && ` at ${dnsProviders[provider].label}`}:
      </p>
      <dl className="divide-y rounded-md border">
        <Part name="Type" value={shown.type} />
        <Part name="Name" value={shown.name} copied />
        <Part name="Value" value={shown.value} copied />
      </dl>
      {provider && (
        <ul aria-label={`At ${dnsProviders[provider].label}`} className="grid list-disc gap-1 pl-5 text-sm wrap-anywhere">
          {adviseRecord(provider, record, { apexName: zone, ...(dataPlaneHost !== undefined && { dataPlaneHost }) }).map(
            (advice) => (
              <li key={advice}>{advice}</li>
            ),
          )}
        </ul>
      )}
      <p className="text-sm text-ink-soft">
        {propagationNote}
        {checksAgain && ' This page checks again by itself.'}
      </p>
    </div>
  );
}

function Part({ name, value, copied = false }: { readonly name: string; readonly value: string; readonly copied?: boolean }) {
  return (
    <div className="flex min-h-11 items-center gap-3 py-1 pr-1.5 pl-3">
      <dt className="w-16 shrink-0 text-sm text-ink-soft">{name}</dt>
      <dd className="flex min-w-0 flex-1 items-center justify-between gap-2">
        <span className="min-w-0 font-mono text-sm wrap-anywhere">{value}</span>
        {copied && <CopyButton text={value} what={name.toLowerCase()} />}
      </dd>
    </div>
  );
}
