// The visitor log of a tunnel: who visited in the last day, as it happens, and what the log keeps.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { askedOf } from '@underpass/rules/list/list-address.ts';
import type { ListRules } from '@underpass/rules/list/list-page.ts';
import { may, whoMay } from '@underpass/rules/people/permission.ts';
import { type VisitorLogFilter, visitorLogBounds, visitorLogFilters } from '@underpass/rules/tunnel/visitor-log.ts';
import { useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData, useParams, useSearchParams } from 'react-router';
import { askFor } from '../../api/answers.ts';
import { FetchedRows } from '../../api/fetched-rows.tsx';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { getTunnel } from '../../api/tunnels.ts';
import { every, useAgain } from '../../api/use-again.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useListAddress } from '../../list/list-address.ts';
import { LogSearch, LogTable } from '../../list/log-table.tsx';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { SelectField } from '../../ui/input/select-field.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { visitColumns } from './visit-columns.tsx';
import { VisitorLogDialog } from './visitor-log-dialog.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  return { tunnel: later(getTunnel(params.projectID!, params.name!, request.signal)) };
}

export function Component() {
  const { tunnel } = useLoaderData<typeof loader>();
  const { name = '' } = useParams();
  const project = useProject();
  const back = paths.tunnel(project.id, name);
  return (
    <Load
      promise={tunnel}
      failedHeader={<PageHeader wide title="Visitors" back={back} />}
      fallbackHeader={<PageHeader wide title="Visitors" back={back} />}
      thing={{ name, list: paths.tunnels(project.id), listLabel: 'Tunnels' }}
    >
      {(loaded) => <VisitorsView tunnel={loaded} />}
    </Load>
  );
}

const rowsMost = visitorLogBounds.rows.toLocaleString('en-US');

/** What is kept, for how long, said where it is read. */
function describeLog({ name, visitorLog, visitorLogQuery }: Tunnel): string {
  if (visitorLog === undefined) return `The visitor log of ‘${name}’ is off.`;
  const addresses = visitorLog === 'full' ? 'Whole addresses' : 'Addresses without their end (/24, /48)';
  const paths = visitorLogQuery ? 'paths with queries' : 'paths without queries';
  return `Visits of ‘${name}’ in the last 24 hours, at most ${rowsMost}. ${addresses}, ${paths}; no headers, no bodies.`;
}

function VisitorsView({ tunnel }: { readonly tunnel: Tunnel }) {
  const project = useProject();
  const [isOpen, setOpen] = useState(false);
  const mayRead = may(project.role, 'visitor-log.read');
  const isOn = tunnel.visitorLog !== undefined;
  const change = may(project.role, 'tunnel.update') && (
    <Button variant={isOn ? 'secondary' : 'primary'} onClick={() => setOpen(true)}>
      {isOn ? 'Change the log' : 'Switch the log on'}
    </Button>
  );
  return (
    <>
      <PageHeader
        wide
        title="Visitors"
        subtitle={describeLog(tunnel)}
        back={paths.tunnel(project.id, tunnel.name)}
        actions={isOn && change}
      />
      {!mayRead && <EmptyState title="Not for your role" text={whoMay('visitor-log.read')} />}
      {mayRead && !isOn && (
        <NothingHere
          title="The visitor log is off"
          text="Switch it on to see who visits: time, address, path, status, and how long edge, tunnel and service took. Visitors see no difference."
          action={change}
        />
      )}
      {mayRead && isOn && <Visits tunnel={tunnel} />}
      <VisitorLogDialog tunnel={tunnel} open={isOpen} onOpenChange={setOpen} />
    </>
  );
}

const rules: ListRules = { statuses: visitorLogFilters, sorts: [] };

/** Control writes visits once a second. */
const refreshes = every(2_000);

function Visits({ tunnel }: { readonly tunnel: Tunnel }) {
  const project = useProject();
  const [search] = useSearchParams();
  const [isLive, setLive] = useState(true);
  const { q, status: asked, after: before, before: after } = askedOf(search, rules);
  const status = asked as VisitorLogFilter | undefined;
  const input = { project: project.id, name: tunnel.name, q, status, before, after };
  const ask = askFor(tunnelCalls.listVisitorLog, input, { background: true });
  // A change of the log deletes what it kept, so an answer from before it is wrong.
  const page = useFetched({ ...ask, key: `${ask.key} ${tunnel.visitorLog} ${tunnel.visitorLogQuery === true}` });
  const isNewest = before === undefined && after === undefined;
  useAgain(page.reload, isLive && isNewest ? refreshes : undefined);
  const { data } = page;
  return (
    <div className="grid gap-4">
      <search aria-label="Filter the visits" className="flex flex-wrap items-end gap-x-4 gap-y-3">
        <LogSearch label="Search visits" />
        <OutcomeFilter />
        <div className="flex h-10 items-center">
          <Switch label="Live" checked={isLive && isNewest} disabled={!isNewest} onChange={setLive} />
        </div>
      </search>
      <FetchedRows
        fetched={{ data: data?.entries, error: page.error, busy: page.busy, reload: page.reload }}
        what="visits"
        emptyText={q === undefined && status === undefined ? 'No visits yet.' : 'No visit matches.'}
      >
        {() => data && <LogTable label="Visits" columns={visitColumns} page={data} />}
      </FetchedRows>
    </div>
  );
}

const outcomes = [
  { value: '', label: 'All' },
  { value: 'refused', label: 'Answered by Underpass: refused or failed' },
  { value: '4xx', label: 'Status 4xx' },
  { value: '5xx', label: 'Status 5xx' },
] as const;

function OutcomeFilter() {
  const { status = '', setStatus } = useListAddress(rules);
  return (
    <SelectField
      label="Outcome"
      className="w-full sm:w-72"
      value={status}
      options={outcomes}
      onChange={(next) => setStatus(next === '' ? undefined : next)}
    />
  );
}
