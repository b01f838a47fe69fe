// One tunnel: its state, its setup, how to connect (spec 2, Tunnel detail).
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { isPrivateTunnel } from '@underpass/rules/tunnel/tcp-address.ts';
import { conditionOf } from '@underpass/rules/tunnel/tunnel-condition.ts';
import { isWaitingForVerification, showsConnect, waitingText } from '@underpass/rules/tunnel/tunnel-status.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { useEffect, useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData, useParams, useRevalidator } from 'react-router';
import { answers } from '../../api/answers.ts';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { getTunnel } from '../../api/tunnels.ts';
import { useLiveTunnel } from '../../live/live-tunnels.tsx';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { lazyPart } from '../../ui/lazy-part.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { askClients, Clients } from './clients.tsx';
import { ConnectCard } from './connect-card.tsx';
import { askDomainChecks, useDomainChecks } from './domain-checks.ts';
import { Expiry } from './expiry.tsx';
import { IngressDomains } from './ingress-domains.tsx';
import { askLastClient } from './last-client.tsx';
import { PublicPort } from './public-port.tsx';
import { SetupChecklist, waitsForDns } from './setup-checklist.tsx';
import { askHistory, firstRange, Traffic } from './traffic.tsx';
import { TunnelHeader } from './tunnel-header.tsx';
import { TunnelMetrics } from './tunnel-metrics.tsx';
import { RestSkeleton, TunnelSkeleton } from './tunnel-skeleton.tsx';

/** Few tunnels are private, and its table and dialogs are large. */
const Reach = lazyPart('How to reach the tunnel', () => import('./reach.tsx').then((module) => module.Reach));

export function loader({ params, request }: LoaderFunctionArgs) {
  const project = params.projectID!;
  const name = params.name!;
  const parts = [askHistory(project, name, firstRange), askClients(project, name), askLastClient(project, name)];
  const tunnel = later(getTunnel(project, name, request.signal));
  // Most of the page waits for them, so the first page shows with them (api/first-data.ts).
  const checks = answers.askAhead(askDomainChecks(project, name), request.signal);
  for (const part of parts) void answers.askAhead(part, request.signal);
  return { tunnel, checks };
}

export function Component() {
  const { tunnel } = useLoaderData<typeof loader>();
  const { name = '' } = useParams();
  const project = useProject();
  const back = paths.tunnels(project.id);
  return (
    <Load
      promise={tunnel}
      fallback={<TunnelSkeleton name={name} back={back} />}
      failedHeader={<PageHeader title={name} back={back} />}
      thing={{ name, list: back, listLabel: 'Tunnels' }}
    >
      {(loaded) => <TunnelView loaded={loaded} />}
    </Load>
  );
}

function TunnelView({ loaded }: { readonly loaded: Tunnel }) {
  const tunnel = useLiveTunnel(loaded);
  const project = useProject();
  const { revalidate, state } = useRevalidator();
  const checks = useDomainChecks(project.id, tunnel);
  const hold = useHold(waitsForDns({ tunnel, checks }));
  // Decided once: the page keeps its order while somebody reads it.
  const [isRunning] = useState(() => (loaded.connectedClients ?? 0) > 0);
  const use = (
    <>
      <Traffic project={project.id} tunnel={tunnel} />
      <Clients project={project.id} tunnel={tunnel} />
    </>
  );
  const isSuspended = conditionOf(tunnel) === 'suspended';
  // No step helps a suspended tunnel.
  const checklist = !isSuspended && <SetupChecklist tunnel={tunnel} checks={checks} />;
  const refresh = () => {
    revalidate();
    checks.reload();
  };
  return (
    <>
      <TunnelHeader tunnel={tunnel} busy={state === 'loading' || checks.busy} onRefresh={refresh} />
      <div className="grid gap-5">
        <TunnelMetrics tunnel={tunnel} checks={checks} />
        {isSuspended && (
          <Banner tone="danger" title="This tunnel is suspended.">
            Visitors get an error page, and no client can connect. Please write to the operator of this service.
          </Banner>
        )}
        {tunnel.expiresAt !== undefined && <Expiry tunnel={tunnel} />}
        {isWaitingForVerification(tunnel.status) && <Banner tone="info">{waitingText}</Banner>}
        {hold === 'waits' ? (
          <RestSkeleton />
        ) : (
          <>
            {hold === 'over' && checklist}
            {isRunning && use}
            {isPrivateTunnel(tunnel) ? (
              <Reach tunnel={tunnel} />
            ) : tunnelTypes[tunnel.type].foundBy === 'port' ? (
              <PublicPort tunnel={tunnel} />
            ) : (
              <IngressDomains tunnel={tunnel} checks={checks} />
            )}
            {showsConnect(tunnel) && <ConnectCard tunnel={tunnel} startsFolded={isRunning} />}
            {!isRunning && use}
            {hold === 'given-up' && checklist}
          </>
        )}
      </div>
    </>
  );
}

/** The server answers within 3 s, with or without the name servers. */
const mostHeldMs = 3500;

type Hold = 'waits' | 'over' | 'given-up';

/**
 * Holds the rest of the page until the checks are there: a checklist that appeared above it would push it down. Once that has
 * taken too long, the checklist comes last instead, until the page is opened again.
 */
function useHold(waits: boolean): Hold {
  const [hold, setHold] = useState<Hold>(waits ? 'waits' : 'over');
  if (hold === 'waits' && !waits) setHold('over');
  useEffect(() => {
    const timer = setTimeout(() => setHold((now) => (now === 'waits' ? 'given-up' : now)), mostHeldMs);
    return () => clearTimeout(timer);
  }, []);
  return hold;
}
