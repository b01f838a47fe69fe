// The figures of a tunnel over five minutes, above them the way that its visitors take.
import type { Tunnel } from '@underpass/rules/entity.ts';
import { renderTunnelMetrics } from '@underpass/rules/metrics.ts';
import { Figures } from '../../ui/figures.tsx';
import { TunnelPath } from './tunnel-path.tsx';

export function TunnelMetrics({ tunnel }: { readonly tunnel: Tunnel }) {
  return (
    <section aria-label="Metrics" className="rounded-lg border bg-surface">
      <TunnelPath tunnel={tunnel} />
      <Figures figures={renderTunnelMetrics(tunnel)} />
    </section>
  );
}
