// The path of a visitor, and the tunnel's figures over five minutes.
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { renderTunnelMetrics } from '@underpass/rules/screen/metrics.ts';
import { Figures } from '../../ui/chart/figures.tsx';
import { TunnelPath } from './tunnel-path.tsx';

export function TunnelMetrics({ tunnel }: { readonly tunnel: Tunnel }) {
  return (
    <section aria-label="Metrics" className="rounded-lg border bg-surface">
      <TunnelPath tunnel={tunnel} />
      <Figures figures={renderTunnelMetrics(tunnel)} />
    </section>
  );
}
