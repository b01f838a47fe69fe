// Some of the project's tunnels, failing ones first: how each stands and since when, its last error, and a trace of its traffic.
import type { Overview, OverviewTunnel } from '@underpass/rules/entity/resource.ts';
import { formatByteRate } from '@underpass/rules/screen/metrics.ts';
import { clientErrors } from '@underpass/rules/tunnel/client-error.ts';
import { conditionOf } from '@underpass/rules/tunnel/tunnel-condition.ts';
import { Link } from 'react-router';
import { useLiveTunnels } from '../../live/live-tunnels.tsx';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Card } from '../../ui/card.tsx';
import { Sparkline } from '../../ui/chart/sparkline.tsx';
import { TimeAgo } from '../../ui/date/date-time.tsx';
import { tiles } from '../../ui/tiles.ts';
import { ConditionNote, LiveStatusBadge } from '../tunnels/status-badge.tsx';

interface TunnelsCardProps {
  readonly overview: Pick<Overview, 'tunnels' | 'shown'>;
  readonly className: string;
}

export function TunnelsCard({ overview: { tunnels, shown }, className }: TunnelsCardProps) {
  const project = useProject();
  const rows = useLiveTunnels(shown);
  const all = (
    <Link to={paths.tunnels(project.id)} className="text-sm font-semibold text-accent-ink underline underline-offset-4">
      {tunnels > rows.length ? `All ${tunnels.toLocaleString('en-US')} tunnels` : 'All tunnels'}
    </Link>
  );
  return (
    <Card title="Tunnels" actions={all} flush className={`@container ${className}`}>
      <ul className={`${tiles} @7xl:grid-cols-2`}>
        {rows.map((tunnel) => (
          <Row key={tunnel.name} tunnel={tunnel} to={paths.tunnel(project.id, tunnel.name)} />
        ))}
      </ul>
    </Card>
  );
}

function Row({ tunnel, to }: { readonly tunnel: OverviewTunnel; readonly to: string }) {
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 px-4 py-3 transition-colors hover:bg-hover sm:px-5 @2xl:grid-cols-[minmax(0,1fr)_minmax(0,15rem)_9rem]">
      <div className="min-w-0">
        <Link
          to={to}
          className="font-semibold wrap-anywhere after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-focus"
        >
          {tunnel.name}
        </Link>
        <p className="truncate font-mono text-sm text-ink-soft">{addressOf(tunnel)}</p>
      </div>
      <div className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5 @max-2xl:order-last @max-2xl:col-span-2">
        <LiveStatusBadge tunnel={tunnel} />
        <ConditionNote tunnel={tunnel} />
        <LastError tunnel={tunnel} />
      </div>
      <Traffic tunnel={tunnel} />
    </li>
  );
}

function addressOf({ domain, domains, hostPort }: OverviewTunnel): string {
  if (domain === undefined) return hostPort ?? 'No ingress domains';
  return `${domain}${domains > 1 ? ` and ${domains - 1} more` : ''}`;
}

/** Tells why a tunnel is down, not what went wrong before it worked. */
function LastError({ tunnel }: { readonly tunnel: OverviewTunnel }) {
  const { error } = tunnel;
  const condition = conditionOf(tunnel);
  if (error === undefined || condition === 'working' || condition === 'failing' || condition === 'stopped') return null;
  return (
    <span className="w-full text-sm text-ink-soft">
      Last error: {clientErrors[error.code]}, <TimeAgo at={error.at} />
    </span>
  );
}

function Traffic({ tunnel: { metrics, trace } }: { readonly tunnel: OverviewTunnel }) {
  const rate = metrics && metrics.rx + metrics.tx;
  return (
    <div className="flex w-24 flex-col items-end gap-0.5 @2xl:w-auto">
      <Sparkline values={trace} className="h-7 w-full" />
      <span className="text-xs text-ink-soft tabular">
        <span className="sr-only">Traffic: </span>
        {rate === undefined ? 'n/a' : formatByteRate(rate)}
      </span>
    </div>
  );
}
