// What the project used in a month, against its limit, by day.
import { urlOf } from '@underpass/rules/api/call.ts';
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import type { ProjectUsage } from '@underpass/rules/entity/resource.ts';
import { monthAt, monthBefore, parseMonth, type UsageMonth } from '@underpass/rules/text/month.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { ChevronLeft, ChevronRight, Download } from 'lucide-react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { buttonClass } from '../../ui/button.tsx';
import { ButtonLink } from '../../ui/button-link.tsx';
import { Card } from '../../ui/card.tsx';
import { formatMonth } from '../../ui/date/date-format.ts';
import { PageHeader } from '../../ui/page-header.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';

type Counts = ProjectUsage['total'];

function monthIn(search: URLSearchParams): UsageMonth {
  const asked = parseMonth(search.get('month') ?? '');
  return asked.ok ? asked.value : monthAt(Date.now());
}

export function loader({ params, request }: LoaderFunctionArgs) {
  const month = monthIn(new URL(request.url).searchParams);
  const query = { project: params.projectID!, month: month.name };
  return { month, usage: later(callApi(projectCalls.getUsage, query, { signal: request.signal })) };
}

export function Component() {
  const { month, usage } = useLoaderData<typeof loader>();
  const project = useProject();
  const download = (
    <a
      href={urlOf(projectCalls.exportUsage, { project: project.id, month: month.name })}
      download
      className={buttonClass('secondary')}
    >
      <Download aria-hidden="true" />
      Export CSV
    </a>
  );
  return (
    <>
      <PageHeader wide title="Usage" subtitle={`What ‘${project.name}’ used, by day (UTC).`} actions={download} />
      <div className="grid gap-6">
        <MonthChoice month={month} />
        <Load promise={usage}>{(loaded) => <Month usage={loaded} />}</Load>
      </div>
    </>
  );
}

function MonthChoice({ month }: { readonly month: UsageMonth }) {
  const before = monthBefore(month);
  const after = monthAt(month.endMs);
  return (
    <nav aria-label="Month" className="flex flex-wrap items-center gap-2">
      <ButtonLink to={`?month=${before.name}`} size="sm" icon={<ChevronLeft aria-hidden="true" />}>
        {formatMonth(before.startMs)}
      </ButtonLink>
      <h2 className="px-2 font-semibold">{formatMonth(month.startMs)}</h2>
      {after.startMs <= Date.now() && (
        <ButtonLink to={`?month=${after.name}`} size="sm" icon={<ChevronRight aria-hidden="true" />}>
          {formatMonth(after.startMs)}
        </ButtonLink>
      )}
    </nav>
  );
}

function Month({ usage }: { readonly usage: ProjectUsage }) {
  const { total, days, gigabytesPerMonth, stoppedSince } = usage;
  return (
    <>
      {stoppedSince !== undefined && (
        <Banner tone="danger" title="The traffic of this month is used up.">
          The tunnels of this project stand still until the month ends, or until the operator raises the limit.
        </Banner>
      )}
      <Card title="Total">
        {gigabytesPerMonth !== undefined && <Against used={bytesOf(total)} gigabytes={gigabytesPerMonth} />}
        <dl className="grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-3 xl:grid-cols-6">
          {figures.map(({ key, header, text }) => (
            <div key={key}>
              <dt className="text-sm text-ink-soft">{header}</dt>
              <dd className="text-lg tabular">{text(total)}</dd>
            </div>
          ))}
        </dl>
      </Card>
      {days.length > 0 ? (
        <DataTable label="Usage by day" wide columns={columns} rows={days} rowKey={({ day }) => day} noun="days" />
      ) : (
        <p className="text-ink-soft">Nothing passed through the tunnels in this month.</p>
      )}
    </>
  );
}

const bytesOf = ({ rxBytes, txBytes }: Counts): number => rxBytes + txBytes;

function Against({ used, gigabytes }: { readonly used: number; readonly gigabytes: number }) {
  const most = gigabytes * 1e9;
  return (
    <div className="mb-5 grid gap-1.5">
      <p>
        {formatSize(used)} of {gigabytes} GB per month
      </p>
      <meter
        className="h-2 w-full"
        min={0}
        max={most}
        high={most * 0.8}
        optimum={0}
        value={used}
        aria-label="Traffic of this month"
      />
    </div>
  );
}

interface Figure {
  readonly key: string;
  readonly header: string;
  readonly text: (counts: Counts) => string;
  readonly number: (counts: Counts) => number;
}

const counted = (key: keyof Counts, header: string): Figure => ({
  key,
  header,
  text: (counts) => counts[key].toLocaleString('en-GB'),
  number: (counts) => counts[key],
});
const sized = (key: 'rxBytes' | 'txBytes', header: string): Figure => ({
  ...counted(key, header),
  text: (counts) => formatSize(counts[key]),
});

const figures: readonly Figure[] = [
  sized('rxBytes', 'From visitors'),
  sized('txBytes', 'To visitors'),
  counted('requests', 'Requests'),
  counted('connections', 'Connections'),
  counted('tunnelHours', 'Tunnel hours'),
  counted('signIns', 'Sign-ins'),
];

const columns: readonly Column<ProjectUsage['days'][number]>[] = [
  { key: 'day', header: 'Day', width: '8rem', cell: ({ day }) => day, sortBy: ({ day }) => day },
  ...figures.map(({ key, header, text, number }) => ({
    ...{ key, header, width: '1fr', align: 'end' as const, sortBy: number },
    cell: (row: Counts) => <span className="tabular">{text(row)}</span>,
  })),
];
