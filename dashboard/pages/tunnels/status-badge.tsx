// The status of a tunnel (rules/tunnel/tunnel-status.ts). When live updates have stopped, it is grey and says when it was true.
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { decideDisplayStatus, type StatusTone, statusTones } from '@underpass/rules/tunnel/tunnel-status.ts';
import { useStoppedAt } from '../../live/live-link.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { formatTimeOfDay } from '../../ui/date-format.ts';

/** Amber, not red, without a client: many tunnels are just not used yet. */
const tones: Record<StatusTone, Tone> = { positive: 'ok', negative: 'warn', waiting: 'info', neutral: 'neutral' };

export interface StatusBadgeProps {
  readonly tunnel: Pick<Tunnel, 'status' | 'connectedClients'>;
  /** When the status was last known, if that is not now. */
  readonly asOfMs?: number | undefined;
}

export function StatusBadge({ tunnel, asOfMs }: StatusBadgeProps) {
  const status = decideDisplayStatus(tunnel);
  if (asOfMs === undefined) {
    return (
      <Badge tone={tones[statusTones[status]]} dot={status === 'Connected' ? 'filled' : 'ring'}>
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
