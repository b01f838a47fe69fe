// The first page of a project: its counts, the first steps of a new one, and tips (spec 2, Dashboard).
import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import { may, roleLabels } from '@underpass/rules/people/permission.ts';
import { type DashboardSums, dashboardLabels, sumDashboard } from '@underpass/rules/screen/metrics.ts';
import { type Tip, tips } from '@underpass/rules/screen/tips.ts';
import { text } from '@underpass/rules/text/text.ts';
import { ArrowUpRight, Plus } from 'lucide-react';
import { type LoaderFunctionArgs, useLoaderData, useRevalidator } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callPage } from '../../api/request.ts';
import { listTunnelPage } from '../../api/tunnels.ts';
import { useCountChanges, useListChanges } from '../../live/live-tunnels.tsx';
import { newTunnelParam, paths } from '../../routing/paths.ts';
import { useProject, useShell } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { ButtonLink } from '../../ui/button-link.tsx';
import { Figures } from '../../ui/chart/figures.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { newProjectTunnels } from './first-steps.ts';
import { FirstSteps, loadFirstSteps } from './first-steps-card.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  const project = params.projectID!;
  const { signal } = request;
  const tunnels = listTunnelPage(project, { limit: String(newProjectTunnels) }, signal);
  const domains = callPage(domainCalls.listDomains, { project, limit: '1' }, { signal });
  return {
    sums: later(Promise.all([tunnels, domains]).then((lists) => sumDashboard(...lists))),
    steps: later(loadFirstSteps(project, tunnels, signal)),
  };
}

export function Component() {
  const { sums, steps } = useLoaderData<typeof loader>();
  const { user } = useShell();
  const project = useProject();
  useListChanges(useRevalidator().revalidate);
  return (
    <>
      <PageHeader
        title={text.home.welcome(user.firstName)}
        subtitle={
          <span className="inline-flex flex-wrap items-center gap-2">
            {text.home.project(project.name)}
            {project.role && <Badge>{roleLabels[project.role]}</Badge>}
          </span>
        }
        actions={
          may(project.role, 'tunnel.create') && (
            <ButtonLink
              variant="primary"
              to={`${paths.tunnels(project.id)}?${newTunnelParam}`}
              icon={<Plus aria-hidden="true" />}
            >
              {text.tunnels.add}
            </ButtonLink>
          )
        }
      />
      <section aria-label="Metrics" className="mb-8">
        <Load promise={sums} fallback={<SumsView sums={undefined} />} failed={<MetricsFailed />}>
          {(loaded) => <LiveSums sums={loaded} />}
        </Load>
      </section>
      {/* Nothing until it is known whether the steps stand above the tips, so that the tips do not move. */}
      <Load promise={steps} fallback={null} failed={<Tips />}>
        {(data) => (
          <>
            {data && may(project.role, 'tunnel.create') && <FirstSteps project={project.id} data={data} />}
            <Tips />
          </>
        )}
      </Load>
    </>
  );
}

function LiveSums({ sums }: { readonly sums: DashboardSums }) {
  useCountChanges(sums.tunnels, sums.connectedClients, useRevalidator().revalidate);
  return <SumsView sums={sums} />;
}

const order = [
  'tunnels',
  'verifiedDomains',
  'upstreamDomains',
  'connectedClients',
] as const satisfies readonly (keyof DashboardSums)[];

/** Shows dashes at the same height while there are no sums, so nothing moves when they arrive. */
function SumsView({ sums }: { readonly sums: DashboardSums | undefined }) {
  return (
    <div aria-busy={sums === undefined} className="rounded-lg border bg-surface">
      <Figures figures={order.map((key) => ({ label: dashboardLabels[key], value: sums ? String(sums[key]) : '–' }))} />
    </div>
  );
}

function MetricsFailed() {
  const { revalidate, state } = useRevalidator();
  const retry = (
    <Button size="sm" busy={state === 'loading'} onClick={() => revalidate()}>
      {text.error.retry}
    </Button>
  );
  return <Banner tone="danger" title={text.error.metrics} action={retry} />;
}

function Tips() {
  return (
    <section aria-labelledby="tips">
      <h2 id="tips" className="mb-3 text-lg font-bold">
        Tips
      </h2>
      <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
        {tips.map((tip) => (
          <TipCard key={tip.url} tip={tip} />
        ))}
      </ul>
    </section>
  );
}

function TipCard({ tip }: { readonly tip: Tip }) {
  return (
    <li className="group relative rounded-lg border bg-surface p-4 transition-colors hover:bg-hover">
      <a
        href={tip.url}
        target="_blank"
        rel="noreferrer"
        className="flex items-center justify-between gap-2 font-semibold after:absolute after:inset-0 after:rounded-lg"
      >
        {tip.title}
        <ArrowUpRight aria-hidden="true" className="size-4 shrink-0 text-ink-faint group-hover:text-accent-ink" />
      </a>
      <p className="mt-1 text-sm text-ink-soft">{tip.text}</p>
    </li>
  );
}
