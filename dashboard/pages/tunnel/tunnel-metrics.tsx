// The path of a visitor, and the tunnel's figures over five minutes.
import { renderTunnelMetrics } from '@underpass/rules/screen/metrics.ts';
import { Figures } from '../../ui/chart/figures.tsx';
import { TunnelPath, type TunnelPathProps } from './tunnel-path.tsx';

export function TunnelMetrics({ tunnel, checks }: TunnelPathProps) {
  return (
    <section aria-label="Metrics" className="rounded-lg border bg-surface">
      <TunnelPath tunnel={tunnel} checks={checks} />
      <Figures figures={renderTunnelMetrics(tunnel)} />
    </section>
  );
}
