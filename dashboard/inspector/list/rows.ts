// How a row of the list reads.
import type { ExchangeSummary } from '@underpass/rules/inspect/exchange.ts';
import type { Tone } from '../../ui/badge.tsx';
import { formatTimeOfDay } from '../../ui/date/date-format.ts';
import { formatDuration } from '../core/format.ts';

const statusTones: readonly Tone[] = ['neutral', 'info', 'ok', 'info', 'warn', 'danger'];

interface StatusText {
  readonly text: string;
  readonly tone: Tone;
}

export function statusOf({ state, status }: Pick<ExchangeSummary, 'state' | 'status'>): StatusText {
  if (status === null) return state === 'failed' ? { text: 'Failed', tone: 'danger' } : { text: 'Waiting', tone: 'neutral' };
  if (state === 'failed') return { text: `${status} cut`, tone: 'danger' };
  return { text: String(status), tone: statusTones[Math.floor(status / 100)] ?? 'neutral' };
}

export const durationOf = ({ durationMs }: ExchangeSummary): string =>
  durationMs === null ? 'open' : formatDuration(durationMs);

export const clockOf = (ms: number): string => formatTimeOfDay(ms, 'medium');
