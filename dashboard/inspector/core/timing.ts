// The parts of a request's time, for the bar and its legend.
import type { Timing } from '@underpass/rules/inspect/exchange.ts';
import { formatDuration } from './format.ts';

export type TimingPlace = 'edge' | 'tunnel' | 'upstream';

export interface TimingPart {
  readonly place: TimingPlace;
  readonly label: string;
  readonly ms: number;
}

const timingRows: readonly { readonly key: keyof Timing; readonly place: TimingPlace; readonly label: string }[] = [
  { key: 'edgeMs', place: 'edge', label: 'Edge' },
  { key: 'tunnelMs', place: 'tunnel', label: 'Tunnel' },
  { key: 'connectMs', place: 'upstream', label: 'Connect' },
  { key: 'sendMs', place: 'upstream', label: 'Send' },
  { key: 'waitMs', place: 'upstream', label: 'Wait' },
  { key: 'receiveMs', place: 'upstream', label: 'Receive' },
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
  return timingRows.flatMap(({ key, place, label }) => {
    const ms = timing[key];
    return ms === null ? [] : [{ place, label, ms }];
  });
}
