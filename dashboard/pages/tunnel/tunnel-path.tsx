// The path of a visitor: the internet, the region, the client. The lane markings move while the path is open.
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { type DisplayStatus, decideDisplayStatus } from '@underpass/rules/tunnel/tunnel-status.ts';
import clsx from 'clsx';
import { Globe, type LucideIcon, Server, TrainFrontTunnel } from 'lucide-react';
import { useStoppedAt } from '../../live/live-link.ts';

const lanes: Record<DisplayStatus, string> = {
  Connected: 'text-ok animate-lanes',
  Disconnected: 'text-warn opacity-60',
  Pending: 'text-ink-faint opacity-40',
  Unknown: 'text-ink-faint opacity-40',
};

export function TunnelPath({ tunnel }: { readonly tunnel: Tunnel }) {
  const isKnown = useStoppedAt() === undefined;
  const status = isKnown ? decideDisplayStatus(tunnel) : 'Unknown';
  const clients = tunnel.connectedClients ?? 0;
  return (
    <div aria-hidden="true" className="flex items-center gap-3 border-b px-4 py-4 text-sm sm:px-5">
      <Stop icon={Globe} title="Visitors" detail="Internet" />
      <Lane className={status === 'Pending' || status === 'Unknown' ? lanes[status] : lanes.Connected} />
      <Stop icon={TrainFrontTunnel} title={tunnel.region} detail="Region" lit={status === 'Connected'} />
      <Lane className={lanes[status]} />
      <Stop icon={Server} title={clients === 1 ? '1 client' : `${clients} clients`} detail="Your side" />
    </div>
  );
}

interface StopProps {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly detail: string;
  readonly lit?: boolean;
}

function Stop({ icon: Icon, title, detail, lit = false }: StopProps) {
  return (
    <span className="flex min-w-0 items-center gap-2.5">
      <span
        className={clsx(
          'grid size-9 shrink-0 place-items-center rounded-md border',
          lit ? 'border-transparent bg-accent text-on-accent' : 'bg-sunken text-ink-soft',
        )}
      >
        <Icon className="size-4.5" />
      </span>
      <span className="min-w-0 max-sm:hidden">
        <span className="block truncate leading-4 font-semibold">{title}</span>
        <span className="block leading-4 text-ink-faint">{detail}</span>
      </span>
    </span>
  );
}

function Lane({ className }: { readonly className: string }) {
  return <span className={clsx('h-[3px] min-w-6 flex-1 lanes', className)} />;
}
