// How a visit reads in the table: one row, or the note that some were not kept.
import type { VisitorLogEntry } from '@underpass/rules/entity/resource.ts';
import { counted } from '@underpass/rules/text/counted.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { Fragment } from 'react';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { formatDateTime, formatDayOfYear, formatTimeOfDay } from '../../ui/date/date-format.ts';
import type { Column } from '../../ui/table/table-view.tsx';

export const visitColumns: readonly Column<VisitorLogEntry>[] = [
  { key: 'at', header: 'When', width: '7.5rem', cell: ({ at }) => <Time at={at} /> },
  { key: 'request', header: 'Request', width: 'minmax(0, 2.4fr)', card: 'wide', cell: (entry) => <Request entry={entry} /> },
  { key: 'result', header: 'Result', width: 'minmax(0, 1.4fr)', cell: (entry) => <Result entry={entry} /> },
  { key: 'visitor', header: 'Visitor', width: 'minmax(0, 1.2fr)', cell: (entry) => <Visitor entry={entry} /> },
  { key: 'took', header: 'Took', width: 'minmax(0, 1.6fr)', cell: (entry) => <Took entry={entry} /> },
  {
    key: 'size',
    header: 'Size',
    width: '5.5rem',
    align: 'end',
    cell: ({ missed, bytes }) => (missed > 0 ? null : <span className="tabular">{formatSize(bytes)}</span>),
  },
];

/** The log reaches back a day: the same time of yesterday has its day. */
function Time({ at }: Pick<VisitorLogEntry, 'at'>) {
  const atMs = Date.parse(at);
  const day = formatDayOfYear(atMs);
  return (
    <time dateTime={at} title={formatDateTime(at).title} className="grid tabular whitespace-nowrap">
      {formatTimeOfDay(atMs, 'medium')}
      {day !== formatDayOfYear(Date.now()) && <span className="text-sm text-ink-soft">{day}</span>}
    </time>
  );
}

type Shown = { readonly entry: VisitorLogEntry };

function Request({ entry: { missed, method, host, path, trace } }: Shown) {
  if (missed > 0) return <span className="text-ink-soft">{`${counted(missed, 'more visit')} not shown`}</span>;
  return (
    <span className="grid">
      <span className="font-mono text-sm wrap-anywhere">{method === '' ? 'Connection' : `${method} ${path}`}</span>
      <span className="text-sm text-ink-soft">
        <Breakable text={host} />
      </span>
      {trace && <span className="font-mono text-xs wrap-anywhere text-ink-soft">trace {trace}</span>}
    </span>
  );
}

function toneOf(status: number): Tone {
  if (status >= 500) return 'danger';
  return status >= 400 ? 'warn' : 'ok';
}

function Result({ entry: { missed, status, code, rule } }: Shown) {
  if (missed > 0) return null;
  return (
    <span className="grid justify-items-start gap-1">
      {status > 0 && <Badge tone={toneOf(status)}>{status === 499 ? 'Visitor left' : status}</Badge>}
      {status === 0 && code === '' && <Badge tone="ok">Connected</Badge>}
      {code !== '' && (
        <span className="text-sm text-ink-soft">
          <Code code={code} />
          {rule && <span className="wrap-anywhere"> by rule {rule}</span>}
        </span>
      )}
    </span>
  );
}

/** Breaks between its words, where a column is narrow. */
function Code({ code }: Pick<VisitorLogEntry, 'code'>) {
  return code.split(/(?<=_)/).map((word) => (
    <Fragment key={word}>
      {word}
      <wbr />
    </Fragment>
  ));
}

function Visitor({ entry: { missed, address, who } }: Shown) {
  if (missed > 0) return null;
  return (
    <span className="grid">
      <span className="font-mono text-sm">{address}</span>
      {who !== '' && (
        <span className="text-sm text-ink-soft">
          <Breakable text={who} />
        </span>
      )}
    </span>
  );
}

/** Three figures at most. */
const figure = (ms: number): string => (ms < 10 ? ms.toFixed(1) : ms.toFixed(0));

const parts = [
  ['edgeMs', 'edge'],
  ['tunnelMs', 'tunnel'],
  ['upstreamMs', 'upstream'],
] as const;

function Took({ entry }: Shown) {
  if (entry.missed > 0) return null;
  const known = parts.flatMap(([key, label]) => (entry[key] === null ? [] : [`${label}\u00a0${figure(entry[key])}`]));
  return (
    <span className="grid tabular">
      <span>{`${figure(entry.totalMs)} ms`}</span>
      {known.length > 0 && <span className="text-sm text-ink-soft">{known.join(', ')}</span>}
    </span>
  );
}
