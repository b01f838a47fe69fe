// One tunnel: its state, its setup, how to connect (spec 2, Tunnel detail).
import type { Tunnel } from '@underpass/rules/entity.ts';
import { isWaitingForVerification, showsConnect, waitingText } from '@underpass/rules/tunnel-status.ts';
import { useEffect, useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData, useParams, useRevalidator } from 'react-router';
import { later } from '../../api/later.ts';
import { getTunnel } from '../../api/tunnels.ts';
import { useLiveTunnel } from '../../live/live-tunnels.tsx';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Load } from '../../ui/load.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { Clients } from './clients.tsx';
import { Connect } from './connect.tsx';
import { useDomainChecks } from './domain-checks.ts';
import { Expiry } from './expiry.tsx';
import { IngressDomains } from './ingress-domains.tsx';
import { SetupChecklist, waitsForDns } from './setup-checklist.tsx';
import { Traffic } from './traffic.tsx';
import { TunnelHeader } from './tunnel-header.tsx';
import { TunnelMetrics } from './tunnel-metrics.tsx';
import { RestSkeleton, TunnelSkeleton } from './tunnel-skeleton.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  return { tunnel: later(getTunnel(params.projectID!, params.name!, request.signal)) };
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
  const held = useHeld(waitsForDns({ tunnel, checks }));
  const refresh = () => {
    revalidate();
    checks.reload();
  };
  return (
    <>
      <TunnelHeader tunnel={tunnel} busy={state === 'loading' || checks.busy} onRefresh={refresh} />
      <div className="grid gap-5">
        <TunnelMetrics tunnel={tunnel} />
        {tunnel.expiresAt !== undefined && <Expiry tunnel={tunnel} />}
        {isWaitingForVerification(tunnel.status) && <Banner tone="info">{waitingText}</Banner>}
        {held ? (
          <RestSkeleton />
        ) : (
          <>
            <SetupChecklist tunnel={tunnel} checks={checks} />
            <IngressDomains tunnel={tunnel} checks={checks} />
            {showsConnect(tunnel) && <Connect tunnel={tunnel} />}
            <Traffic project={project.id} tunnel={tunnel.name} />
            <Clients project={project.id} tunnel={tunnel} />
          </>
        )}
      </div>
    </>
  );
}

/** DNS checks take 0.5 s for a name without addresses. If they take longer than this, the rest of the page does not wait. */
const MOST_HELD_MS = 3000;

/** True at first while `waits`: a checklist that appeared above the rest of the page would push it down. Never true again. */
function useHeld(waits: boolean): boolean {
  const [held, setHeld] = useState(waits);
  if (held && !waits) setHeld(false);
  useEffect(() => {
    const timer = setTimeout(() => setHeld(false), MOST_HELD_MS);
    return () => clearTimeout(timer);
  }, []);
  return held && waits;
}
