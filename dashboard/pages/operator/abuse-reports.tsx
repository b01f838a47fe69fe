// Abuse reports: read them, find the tunnel, close them.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { AbuseReport } from '@underpass/rules/entity/resource.ts';
import { abuseReportList } from '@underpass/rules/list/list-page.ts';
import { type LoaderFunctionArgs, useLoaderData, useRevalidator, useSearchParams } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { loadPage } from '../../api/load-page.ts';
import { callApi } from '../../api/request.ts';
import { useTask } from '../../api/use-task.ts';
import { PagedList } from '../../list/paged-list.tsx';
import { paths } from '../../routing/paths.ts';
import { Breakable } from '../../ui/breakable.tsx';
import { Button } from '../../ui/button.tsx';
import { ButtonLink } from '../../ui/button-link.tsx';
import { Segmented } from '../../ui/input/segmented.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { buttonColumn, dateColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';

type ReportState = AbuseReport['state'];

const states = [
  { value: 'open', label: 'Open' },
  { value: 'closed', label: 'Closed' },
] as const;

export function loader({ request }: LoaderFunctionArgs) {
  const state: ReportState = new URL(request.url).searchParams.get('state') === 'closed' ? 'closed' : 'open';
  return { state, reports: loadPage(request, operatorCalls.listAbuseReports, abuseReportList, { state }) };
}

export function Component() {
  const { state, reports } = useLoaderData<typeof loader>();
  const [, setSearch] = useSearchParams();
  return (
    <>
      <PageHeader
        wide
        title="Abuse reports"
        subtitle="Open reported sites with care. They may be harmful."
        actions={<Segmented label="State" value={state} options={states} onChange={(next) => setSearch({ state: next })} />}
      />
      <PagedList
        promise={reports}
        empty={
          <NothingHere
            title={state === 'open' ? 'No Open Reports' : 'No Closed Reports'}
            text="Reports from the public form appear here."
          />
        }
        label="Abuse reports"
        wide
        columns={columns}
        rules={abuseReportList}
        rowKey={({ id }) => id}
        noun="reports"
      />
    </>
  );
}

/** The host is text, not a link, so that no operator opens a harmful page by accident. */
const columns: readonly Column<AbuseReport>[] = [
  {
    key: 'host',
    header: 'Host',
    cell: ({ host, email }) => (
      <span className="grid">
        <span className="font-mono font-bold wrap-anywhere">{host}</span>
        <span className="text-sm text-ink-soft">
          Reported by <Breakable text={email} />
        </span>
      </span>
    ),
  },
  {
    key: 'text',
    header: 'Report',
    width: 'minmax(0, 2fr)',
    card: 'wide',
    cell: ({ text }) => <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>,
  },
  dateColumn('created', 'Reported', ({ createdAt }) => createdAt),
  {
    ...buttonColumn<AbuseReport>('Actions', '8.5rem', (report) => <Actions report={report} />),
    card: 'wide',
  },
];

const Actions = ({ report }: { readonly report: AbuseReport }) => (
  <span className="inline-flex flex-wrap gap-2 columns:justify-end cards:pt-2">
    <ButtonLink size="sm" to={`${paths.operator('tunnels')}?q=${encodeURIComponent(report.host)}`}>
      Find tunnel
    </ButtonLink>
    <ButtonLink size="sm" to={`${paths.operator('blocks')}?add=${encodeURIComponent(report.host)}`}>
      Block name
    </ButtonLink>
    <StateButton report={report} />
  </span>
);

function StateButton({ report }: { readonly report: AbuseReport }) {
  const { revalidate } = useRevalidator();
  const next: ReportState = report.state === 'open' ? 'closed' : 'open';
  const task = useTask(async () => {
    try {
      await callApi(operatorCalls.changeAbuseReport, { id: report.id, payload: { state: next } });
      toast.done(`Report about ${report.host} ${next === 'closed' ? 'closed' : 'reopened'}.`);
    } catch (error) {
      toast.failed('The report could not be changed.', messageOf(error));
    }
    await revalidate();
  });
  const label = next === 'closed' ? 'Close' : 'Reopen';
  return (
    <Button size="sm" busy={task.busy} onClick={() => task.run()} aria-label={`${label}: report about ${report.host}`}>
      {label}
    </Button>
  );
}
