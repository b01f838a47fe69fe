// The status of a tunnel (rules/tunnel-status.ts).
import type { Tunnel } from '@underpass/rules/entity.ts';
import { decideDisplayStatus, type StatusTone, statusTones } from '@underpass/rules/tunnel-status.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';

const TONES: Record<StatusTone, Tone> = { positive: 'ok', negative: 'danger', waiting: 'info', neutral: 'neutral' };

export function StatusBadge({ tunnel }: { readonly tunnel: Pick<Tunnel, 'status' | 'connectedClients'> }) {
  const status = decideDisplayStatus(tunnel);
  return (
    <Badge tone={TONES[statusTones[status]]} dot={status === 'Connected' ? 'filled' : 'ring'}>
      {status}
    </Badge>
  );
}
