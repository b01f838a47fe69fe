// The first screen of a project: what needs attention, its tunnels, what changed; of a new project the first steps. The counts and
// tips of the spec come last (spec 2, Dashboard).
import type { Overview } from '@underpass/rules/entity/resource.ts';
import { may, roleLabels } from '@underpass/rules/people/permission.ts';
import { type DashboardSums, dashboardLabels } from '@underpass/rules/screen/metrics.ts';
import { text } from '@underpass/rules/text/text.ts';
import { Plus } from 'lucide-react';
import { type LoaderFunctionArgs, useLoaderData, useRevalidator } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { getOverview } from '../../api/tunnels.ts';
import { every, useAgain } from '../../api/use-again.ts';
import { useCountChanges, useListChanges } from '../../live/live-tunnels.tsx';
import { newTunnelParam, paths } from '../../routing/paths.ts';
import { useProject, useShell } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { ButtonLink } from '../../ui/button-link.tsx';
import { Figures } from '../../ui/chart/figures.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { LoadingArea } from '../../ui/spinner.tsx';
import { AttentionCard } from './attention-card.tsx';
import { ChangesCard } from './changes-card.tsx';
import { FirstSteps } from './first-steps-card.tsx';
import { Tips } from './tips.tsx';
import { TunnelsCard } from './tunnels-card.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  return { overview: later(getOverview(params.projectID!, request.signal)) };
}

export function Component() {
  const { overview } = useLoaderData<typeof loader>();
  const { user } = useShell();
  const project = useProject();
  useListChanges(useRevalidator().revalidate);
  return (
    <div data-full-width>
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
      {/* Nothing stands below the placeholder, so that nothing moves when the answer is there. */}
      <Load promise={overview} fallback={<LoadingArea className="min-h-[32rem]" />} failed={<OverviewFailed />}>
        {(loaded) => <OverviewView overview={loaded} />}
      </Load>
    </div>
  );
}

/** Control writes the history, and so the traces, once a minute. */
const refreshes = every(60_000);

function OverviewView({ overview }: { readonly overview: Overview }) {
  const { revalidate } = useRevalidator();
  const project = useProject();
  useCountChanges(overview.tunnels, overview.connectedClients, revalidate);
  useAgain(revalidate, refreshes);
  const { steps, shown, changes } = overview;
  const hasChanges = changes !== undefined && changes.length > 0;
  const isNew = steps !== undefined && !steps.hasConnected;
  const needsAttention = overview.attention.length > 0;
  // It takes no first step.
  const isSuspended = overview.attention.some(({ kind }) => kind === 'project-suspended');
  return (
    <div className="grid gap-6">
      {needsAttention && <AttentionCard overview={overview} />}
      {steps && may(project.role, 'tunnel.create') && !isSuspended && (
        <FirstSteps project={project.id} tunnels={shown} past={steps} />
      )}
      {!needsAttention && overview.tunnels > 0 && <AttentionCard overview={overview} />}
      {(overview.tunnels > 0 || hasChanges) && (
        <div className="grid items-start gap-6 xl:grid-cols-3">
          {overview.tunnels > 0 && <TunnelsCard overview={overview} className={hasChanges ? 'xl:col-span-2' : 'xl:col-span-3'} />}
          {hasChanges && <ChangesCard changes={changes} className={overview.tunnels > 0 ? undefined : 'xl:col-span-3'} />}
        </div>
      )}
      <section aria-label="Metrics">
        <SumsView sums={overview} />
      </section>
      <Tips isSmall={!isNew} />
    </div>
  );
}

const order = [
  'tunnels',
  'verifiedDomains',
  'upstreamDomains',
  'connectedClients',
] as const satisfies readonly (keyof DashboardSums)[];

function SumsView({ sums }: { readonly sums: DashboardSums }) {
  return (
    <div className="rounded-lg border bg-surface">
      <Figures isSmall figures={order.map((key) => ({ label: dashboardLabels[key], value: String(sums[key]) }))} />
    </div>
  );
}

function OverviewFailed() {
  const { revalidate, state } = useRevalidator();
  const retry = (
    <Button size="sm" busy={state === 'loading'} onClick={() => revalidate()}>
      {text.error.retry}
    </Button>
  );
  return (
    <div className="grid gap-6">
      <Banner tone="danger" title={text.error.metrics} action={retry} />
      <Tips isSmall />
    </div>
  );
}
