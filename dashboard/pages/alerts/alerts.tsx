// The alerts of a project: what its people were told, and who hears of it how.
import { alertCalls } from '@underpass/rules/api/alert-calls.ts';
import type { AlertPage } from '@underpass/rules/entity/resource.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { PageHeader } from '../../ui/page-header.tsx';
import { AlertList } from './alert-list.tsx';
import { MailCard, WaitingTimeCard } from './alert-settings.tsx';
import { WebhookCard } from './webhook.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  return { page: later(callApi(alertCalls.getAlerts, { project: params.projectID! }, { signal: request.signal })) };
}

export function Component() {
  const { page } = useLoaderData<typeof loader>();
  return (
    <>
      <PageHeader wide title="Alerts" subtitle="What went wrong, or will soon, and who is told." />
      <Load promise={page}>{(loaded) => <Alerts page={loaded} />}</Load>
    </>
  );
}

function Alerts({ page: { alerts, mail, waitSeconds } }: { readonly page: AlertPage }) {
  const { id, role } = useProject();
  const mayChange = may(role, 'alert.change');
  // A tunnel's page leads here.
  const tunnel = useSearchParams()[0].get('tunnel');
  return (
    <div className="grid gap-6">
      {tunnel !== null && <OnlyOf tunnel={tunnel} />}
      <AlertList alerts={tunnel === null ? alerts : alerts.filter((alert) => alert.tunnel === tunnel)} />
      <MailCard key={`mail ${id}`} mail={mail} />
      {mayChange && <WebhookCard key={`webhook ${id}`} />}
      {mayChange && <WaitingTimeCard key={`wait ${id}`} waitSeconds={waitSeconds} />}
    </div>
  );
}

function OnlyOf({ tunnel }: { readonly tunnel: string }) {
  const { id } = useProject();
  return (
    <p className="text-ink-soft wrap-anywhere">
      Only alerts about the tunnel{' '}
      <Link to={paths.tunnel(id, tunnel)} className="font-semibold underline underline-offset-4 hover:text-ink">
        {tunnel}
      </Link>
      .{' '}
      <Link to={paths.alerts(id)} className="font-semibold underline underline-offset-4 hover:text-ink">
        Show all
      </Link>
    </p>
  );
}
