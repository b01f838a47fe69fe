// Abuse reports: read them, find the tunnel, close them.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { AbuseReport } from '@underpass/rules/entity/resource.ts';
import { type LoaderFunctionArgs, useLoaderData, useRevalidator, useSearchParams } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { later } from '../../api/later.ts';
import { callApi } from '../../api/request.ts';
import { useTask } from '../../api/use-task.ts';
import { paths } from '../../routing/paths.ts';
import { Button } from '../../ui/button.tsx';
import { ButtonLink } from '../../ui/button-link.tsx';
import { DateTime } from '../../ui/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NothingHereIllustration } from '../../ui/illustrations/nothing-here.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { beforeOf, PagedList } from './paged-list.tsx';

type ReportState = AbuseReport['state'];

const states = [
  { value: 'open', label: 'Open' },
  { value: 'closed', label: 'Closed' },
] as const;

export function loader({ request }: LoaderFunctionArgs) {
  const state: ReportState = new URL(request.url).searchParams.get('state') === 'closed' ? 'closed' : 'open';
  return {
    state,
    reports: later(callApi(operatorCalls.listAbuseReports, { state, before: beforeOf(request) }, { signal: request.signal })),
  };
}

export function Component() {
  const { state, reports } = useLoaderData<typeof loader>();
  const [, setSearch] = useSearchParams();
  return (
    <>
      <PageHeader
        title="Abuse reports"
        subtitle="Open reported sites with care. They may be harmful."
        actions={<Segmented label="State" value={state} options={states} onChange={(next) => setSearch({ state: next })} />}
      />
      <PagedList promise={reports}>{(loaded) => <ReportList state={state} reports={loaded} />}</PagedList>
    </>
  );
}

function ReportList({ state, reports }: { readonly state: ReportState; readonly reports: readonly AbuseReport[] }) {
  if (reports.length === 0) {
    const title = state === 'open' ? 'No Open Reports' : 'No Closed Reports';
    return (
      <EmptyState title={title} text="Reports from the public form appear here." illustration={<NothingHereIllustration />} />
    );
  }
  return (
    <ul className="grid gap-4">
      {reports.map((report) => (
        <Report key={report.id} report={report} />
      ))}
    </ul>
  );
}

/** The host is text, not a link, so that no operator opens a harmful page by accident. */
function Report({ report }: { readonly report: AbuseReport }) {
  return (
    <li className="grid gap-3 rounded-lg border bg-surface p-4 sm:p-5">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <h2 className="font-mono font-bold wrap-anywhere">{report.host}</h2>
          <p className="text-sm text-ink-soft">
            Reported by {report.email}, <DateTime at={report.createdAt} style="short" />
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          <ButtonLink size="sm" to={`${paths.operator('tunnels')}?q=${encodeURIComponent(report.host)}`}>
            Find tunnel
          </ButtonLink>
          <ButtonLink size="sm" to={`${paths.operator('blocks')}?add=${encodeURIComponent(report.host)}`}>
            Block name
          </ButtonLink>
          <StateButton report={report} />
        </div>
      </div>
      <p className="wrap-anywhere whitespace-pre-wrap">{report.text}</p>
    </li>
  );
}

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
