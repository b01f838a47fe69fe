// The parts of a request's time, for the bar and its legend.
import type { Timing } from '@underpass/rules/inspect/exchange.ts';
import { formatDuration } from './format.ts';

type TimingSide = 'edge' | 'tunnel' | 'upstream';

export interface TimingPart {
  readonly side: TimingSide;
  readonly label: string;
  readonly ms: number;
}

const timingRows: readonly { readonly key: keyof Timing; readonly side: TimingSide; readonly label: string }[] = [
  { key: 'edgeMs', side: 'edge', label: 'Edge' },
  { key: 'tunnelMs', side: 'tunnel', label: 'Tunnel' },
  { key: 'connectMs', side: 'upstream', label: 'Connect' },
  { key: 'sendMs', side: 'upstream', label: 'Send' },
  { key: 'waitMs', side: 'upstream', label: 'Wait' },
  { key: 'receiveMs', side: 'upstream', label: 'Receive' },
];

/** What the parts add up to, or what they are without the edge's share. Empty for a replay, which has no way to the edge. */
export function describeTiming({ edgeMs, tunnelMs }: Timing, parts: readonly TimingPart[]): string {
  if (tunnelMs === null) return '';
  if (edgeMs === null) return 'The edge has not told its share. Tunnel is the last measured round trip.';
  const totalMs = parts.reduce((sum, { ms }) => sum + ms, 0);
  return `${formatDuration(totalMs)} at the edge, from the head of the request to the end of the answer.`;
}

/** The known parts in the order in which they happen. */
export function timingParts(timing: Timing): readonly TimingPart[] {
  return timingRows.flatMap(({ key, side, label }) => {
    const ms = timing[key];
    return ms === null ? [] : [{ side, label, ms }];
  });
}
