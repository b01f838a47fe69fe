// The parts of a request's time, for the bar and its legend.
import type { Timing } from '@underpass/rules/inspect/exchange.ts';

export type TimingPlace = 'edge' | 'tunnel' | 'upstream';

export interface TimingPart {
  readonly place: TimingPlace;
  readonly label: string;
  readonly ms: number;
}

const PARTS: readonly { readonly key: keyof Timing; readonly place: TimingPlace; readonly label: string }[] = [
  { key: 'edgeMs', place: 'edge', label: 'Edge' },
  { key: 'tunnelMs', place: 'tunnel', label: 'Tunnel' },
  { key: 'connectMs', place: 'upstream', label: 'Connect' },
  { key: 'sendMs', place: 'upstream', label: 'Send' },
  { key: 'waitMs', place: 'upstream', label: 'Wait' },
  { key: 'receiveMs', place: 'upstream', label: 'Receive' },
];

/** The known parts in the order in which they happen. */
export function timingParts(timing: Timing): readonly TimingPart[] {
  return PARTS.flatMap(({ key, place, label }) => {
    const ms = timing[key];
    return ms === null ? [] : [{ place, label, ms }];
  });
}
