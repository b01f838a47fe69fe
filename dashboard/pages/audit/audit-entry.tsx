// An entry of the audit log: a sentence that unfolds to its details.
import type { AuditEntry } from '@underpass/rules/entity/resource.ts';
import { nameActor } from '@underpass/rules/people/audit-sentence.ts';
import { ChevronRight } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Breakable } from '../../ui/breakable.tsx';
import { CopyTextButton } from '../../ui/copy-button.tsx';
import { DateTime } from '../../ui/date/date-time.tsx';
import { type DetailLine, detailLines } from './audit-detail.ts';
import { Sentence } from './sentence.tsx';

export function AuditEntryView({ entry }: { readonly entry: AuditEntry }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)} className="group">
      <summary className="flex cursor-pointer list-none items-start gap-1.5 rounded-sm">
        <ChevronRight
          aria-hidden="true"
          className="mt-1 size-4 shrink-0 text-ink-faint transition-transform group-open:rotate-90"
        />
        <span className="min-w-0">
          <Sentence change={entry} />
        </span>
      </summary>
      {open && <Details entry={entry} />}
    </details>
  );
}

function Details({ entry }: { readonly entry: AuditEntry }) {
  const { at, actor, action, target, address, detail } = entry;
  return (
    <div className="mt-2 grid gap-3 pl-5.5 text-sm">
      <dl className="grid grid-cols-[minmax(5rem,auto)_minmax(0,1fr)] gap-x-4 gap-y-1">
        {detailLines(detail).map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two lines may have the same name, and none moves.
          <Line key={index} name={line.name}>
            <Value line={line} />
          </Line>
        ))}
        <Line name="Who">
          <Breakable text={nameActor(actor)} />
        </Line>
        {target !== '' && (
          <Line name="What">
            <Breakable text={target} />
          </Line>
        )}
        <Line name="When">
          <DateTime at={at} />
        </Line>
        {address !== '' && <Line name="From">{address}</Line>}
        <Line name="Action">
          <code className="font-mono">{action}</code>
        </Line>
      </dl>
      <div>
        <CopyTextButton text={JSON.stringify(entry, null, 2)} label="Copy as JSON" />
      </div>
    </div>
  );
}

const Value = ({ line: { before, text } }: { readonly line: DetailLine }) =>
  before === undefined ? (
    <Breakable text={text} />
  ) : (
    <>
      <del className="text-ink-soft no-underline">
        <Breakable text={before} />
      </del>
      <span aria-hidden="true"> → </span>
      <span className="sr-only">, now </span>
      <ins className="no-underline">
        <Breakable text={text} />
      </ins>
    </>
  );

const Line = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <>
    <dt className="text-ink-soft">{name}</dt>
    <dd className="min-w-0 wrap-anywhere">{children}</dd>
  </>
);
