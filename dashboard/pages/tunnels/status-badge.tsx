// The status of a tunnel (rules/tunnel/tunnel-status.ts), in the colour and shape of its condition. When live updates have stopped, it
// is grey and says when it was true.
import { conditionOf, type TunnelCondition, tunnelConditions } from '@underpass/rules/tunnel/tunnel-condition.ts';
import { decideDisplayStatus, type StatusTone } from '@underpass/rules/tunnel/tunnel-status.ts';
import { useStoppedAt } from '../../live/live-link.ts';
import type { FollowedTunnel } from '../../live/live-tunnel.ts';
import { Badge, type Dot, type Tone } from '../../ui/badge.tsx';
import { formatTimeOfDay } from '../../ui/date/date-format.ts';
import { TimeAgo, TimeSpan } from '../../ui/date/date-time.tsx';

const tones: Record<StatusTone, Tone> = { positive: 'ok', negative: 'danger', waiting: 'info', neutral: 'neutral' };

const dots: Record<TunnelCondition, Dot> = {
  working: 'filled',
  failing: 'cross',
  down: 'cross',
  suspended: 'cross',
  waiting: 'ring',
  stopped: 'square',
  unused: 'ring',
  unknown: 'ring',
};

type Standing = Pick<FollowedTunnel, 'status' | 'connectedClients' | 'condition' | 'conditionSince'>;

/** Visitors get an error, though the status says Connected. Then the note has the colour, not the status. */
export function isToldByNote(tunnel: Standing): boolean {
  const condition = conditionOf(tunnel);
  return condition === 'failing' || condition === 'suspended';
}

interface StatusBadgeProps {
  readonly tunnel: Standing;
  /** When the status was last known, if that is not now. */
  readonly asOfMs?: number | undefined;
}

export function StatusBadge({ tunnel, asOfMs }: StatusBadgeProps) {
  const status = decideDisplayStatus(tunnel);
  if (asOfMs === undefined) {
    const condition = conditionOf(tunnel);
    if (isToldByNote(tunnel)) return <Badge>{status}</Badge>;
    return (
      <Badge tone={tones[tunnelConditions[condition].tone]} dot={dots[condition]}>
        {status}
      </Badge>
    );
  }
  return (
    <Badge tone="neutral" dot="ring">
      {status} <span className="font-normal">as of {formatTimeOfDay(asOfMs)}</span>
    </Badge>
  );
}

/** The badge on pages that follow their tunnels. */
export const LiveStatusBadge = ({ tunnel }: Pick<StatusBadgeProps, 'tunnel'>) => (
  <StatusBadge tunnel={tunnel} asOfMs={useStoppedAt()} />
);

/** What the word of the badge leaves open: lost or stopped, and when. Empty for a tunnel that works, apart from the time. */
export function ConditionNote({ tunnel }: { readonly tunnel: Standing }) {
  const condition = conditionOf(tunnel);
  const { label, tone } = tunnelConditions[condition];
  const { conditionSince } = tunnel;
  const isColoured = useStoppedAt() === undefined && isToldByNote(tunnel);
  if (label === '' && conditionSince === undefined) return null;
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2 text-sm text-ink-soft">
      {isColoured ? (
        <Badge tone={tones[tone]} dot={dots[condition]} className="h-auto! min-h-6 whitespace-normal!">
          {label}
        </Badge>
      ) : (
        label
      )}
      {conditionSince !== undefined && (label === '' ? <TimeSpan at={conditionSince} /> : <TimeAgo at={conditionSince} />)}
    </span>
  );
}
