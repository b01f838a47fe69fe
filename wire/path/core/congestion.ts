// Which congestion control suits a path. Pure. BBR keeps the rate of a long or lossy path, where reno and cubic halve it with
// every lost packet; on a path of microseconds its pacing costs processor time and gains nothing (docs/decisions/021).

import type { TcpInfo } from './tcp-info.ts';

/** What this system offers this process. */
export interface Controls {
  readonly system: string;
  readonly far: 'bbr' | null;
  readonly near: LossBased | null;
}

export type LossBased = 'cubic' | 'reno';

/** The round trip from which on the path is long. */
const farMs = 5;
/** The round trip up to which the path is a machine, a rack or a building. */
const nearMs = 1;
/** A loss of one segment in a thousand makes a path between the two a far one. Fewer segments say nothing. */
const lossyShare = 0.001;
const judgedSegments = 1_000;

/** A kernel that has not measured a round trip yet says 2^32 - 1 microseconds. */
const unmeasuredMs = 4_000_000;

type Path = Pick<TcpInfo, 'minRttMs' | 'sentSegments' | 'resentSegments'>;

/** The control to change to; null keeps the current one. A system's own choice of a third control is left alone. */
export function nextControl(current: string, path: Path, { far, near }: Controls): string | null {
  if (isLossBased(current)) return isFar(path) ? far : null;
  return current === 'bbr' && isNear(path) ? near : null;
}

/** Some 100 kB. */
const transferSegments = 80;

/** True while a connection has lost nothing and sent little: BBR would only slow its first round trips. */
export const isUntried = ({ sentSegments, resentSegments }: Path): boolean =>
  sentSegments < transferSegments && resentSegments === 0;

export const isLossBased = (control: string): control is LossBased => control === 'cubic' || control === 'reno';

export const isLongPath = (minRttMs: number): boolean => minRttMs >= farMs && minRttMs <= unmeasuredMs;

/**
 * A window this small grows by one segment with each round trip; that of a new connection begins with ten and doubles. From
 * 300 kB on, the new one is faster.
 */
const collapsedSegments = 32;

/** BBR keeps its rate when packets are lost. */
export const isCollapsed = (
  control: string | null,
  { minRttMs, windowSegments, thresholdSegments }: Pick<TcpInfo, 'minRttMs' | 'windowSegments' | 'thresholdSegments'>,
): boolean =>
  control !== null &&
  isLossBased(control) &&
  isLongPath(minRttMs) &&
  Math.max(windowSegments, thresholdSegments) < collapsedSegments;

const isNear = ({ minRttMs }: Path): boolean => minRttMs <= nearMs;

const isFar = ({ minRttMs, sentSegments, resentSegments }: Path): boolean =>
  isLongPath(minRttMs) ||
  (minRttMs > nearMs && minRttMs < farMs && sentSegments >= judgedSegments && resentSegments >= lossyShare * sentSegments);
