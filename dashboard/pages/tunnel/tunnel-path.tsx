// The path of a visitor: the internet, the region, the client. The lanes move while visitors are served, and a lane that is broken has
// a cross. Lines are strokes, which stay visible in forced colours.
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { countClients, decidePath, describePath, isThrough, type Lane } from '@underpass/rules/screen/tunnel-path.ts';
import { conditionOf } from '@underpass/rules/tunnel/tunnel-condition.ts';
import { decideDisplayStatus } from '@underpass/rules/tunnel/tunnel-status.ts';
import clsx from 'clsx';
import { Globe, type LucideIcon, Server, TrainFrontTunnel, X } from 'lucide-react';
import { useStoppedAt } from '../../live/live-link.ts';
import type { DomainChecks } from './domain-checks.ts';

export interface TunnelPathProps {
  readonly tunnel: Tunnel;
  readonly checks: Pick<DomainChecks, 'stateOf'>;
}

export function TunnelPath({ tunnel, checks }: TunnelPathProps) {
  const isKnown = useStoppedAt() === undefined;
  const path = decidePath(isKnown ? conditionOf(tunnel) : 'unknown', tunnel.ingressDomains.map(checks.stateOf));
  const isCounted = isKnown && decideDisplayStatus(tunnel) !== 'Unknown';
  const moves = isThrough(path);
  return (
    <div role="img" aria-label={describePath(path)} className="@container border-b px-4 py-4 text-sm sm:px-5">
      {/* Sizes in pixels: larger text must not push the picture out of its frame. */}
      <div aria-hidden="true" className="flex items-center gap-[10px]">
        <Stop icon={Globe} title="Visitors" detail="Internet" />
        <LaneLine lane={path.visitors} moves={moves} />
        <Stop icon={TrainFrontTunnel} title={tunnel.region} detail="Region" lit={moves} />
        <LaneLine lane={path.clients} moves={moves} />
        <Stop icon={Server} title={countClients(isCounted ? tunnel.connectedClients : undefined)} detail="Your side" />
      </div>
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
    <span className="flex min-w-0 items-center gap-[10px]">
      <span
        className={clsx(
          'grid size-[36px] shrink-0 place-items-center rounded-md border',
          lit ? 'border-transparent bg-accent text-on-accent' : 'bg-sunken text-ink-soft',
        )}
      >
        <Icon className="size-[18px]" />
      </span>
      <span className="min-w-0 @max-lg:hidden">
        <span className="block truncate leading-4 font-semibold">{title}</span>
        <span className="block truncate leading-4 text-ink-faint">{detail}</span>
      </span>
    </span>
  );
}

const colours: Readonly<Record<Lane, string>> = {
  open: 'text-ok',
  broken: 'text-danger',
  off: 'text-edge',
  unknown: 'text-edge',
};
/** Dashes of an open lane are the markings of a road; one that is off is dotted. */
const dashes: Readonly<Record<Lane, string>> = { open: '12 8', broken: '12 8', off: '2 8', unknown: '2 8' };

function LaneLine({ lane, moves }: { readonly lane: Lane; readonly moves: boolean }) {
  return (
    <span className={clsx('relative flex min-w-[16px] flex-1 items-center justify-center', colours[lane])}>
      <svg aria-hidden="true" width="100%" height="3" className="absolute inset-x-0">
        <line
          x2="100%"
          y1="1.5"
          y2="1.5"
          stroke="currentColor"
          strokeWidth="3"
          strokeDasharray={dashes[lane]}
          className={moves ? 'animate-lane' : undefined}
        />
      </svg>
      {lane === 'broken' && <X className="relative size-[18px] shrink-0 rounded-full bg-surface" strokeWidth={3} />}
    </span>
  );
}
