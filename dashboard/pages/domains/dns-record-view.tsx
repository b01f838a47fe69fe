// A DNS record to add, with copy buttons.
import type { DnsRecord } from '@underpass/rules/dns-record.ts';
import { propagationNote } from '@underpass/rules/dns-record.ts';
import { CopyButton } from '../../ui/copy-button.tsx';

export function DnsRecordView({ record, zone }: { readonly record: DnsRecord; readonly zone: string }) {
  return (
    <div className="grid gap-3">
      <p>
        Add this record to the DNS zone of <strong className="font-semibold wrap-anywhere">{zone}</strong>:
      </p>
      <dl className="divide-y rounded-md border">
        <Part name="Type" value={record.type} />
        <Part name="Name" value={record.name} copied />
        <Part name="Value" value={record.value} copied />
      </dl>
      <p className="text-sm text-ink-soft">{propagationNote}</p>
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
