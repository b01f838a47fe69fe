// Which upstream of a domain serves a path, and which path that upstream gets. Servers read paths in different ways (path-match.ts):
// a path that some server takes for one of another upstream, or for one outside the base of its upstream, goes to none. Pure.

import type { Upstream } from '../tunnel/upstream.ts';
import { isBelow, pathReadings } from './path-match.ts';

interface PathUpstream {
  /** See HttpUpstream. */
  readonly path?: string;
  readonly upstream: Upstream;
}

/** `unclear`: servers differ on where the path leads. Null: no upstream serves it. */
export function chooseUpstream<One extends PathUpstream>(upstreams: readonly One[], target: string): One | null | 'unclear' {
  const path = pathOf(target);
  const readings = path.startsWith('/') ? pathReadings(path) : null;
  if (readings === null) return 'unclear';
  let chosen: One | null | undefined;
  for (const reading of readings) {
    const one = longestOf(upstreams, reading);
    if (chosen !== undefined && chosen !== one) return 'unclear';
    chosen = one;
  }
  return chosen ?? null;
}

function longestOf<One extends PathUpstream>(upstreams: readonly One[], path: string): One | null {
  let longest: One | null = null;
  for (const one of upstreams) {
    const { path: own = '' } = one;
    if (isBelow(path, own) && (longest === null || own.length > (longest.path ?? '').length)) longest = one;
  }
  return longest;
}

/**
 * A segment that some server takes for "..". Below a base it would make `/../base/admin` the path `/base/admin` of the upstream,
 * and no rule for `/admin` would have judged it. Browsers and libraries resolve it before they ask.
 */
const climbs = (segment: string): boolean => /^[. ]+$/.test(segment) && segment.split('.').length > 2;

/** The target below the base of the upstream; null if some server would look outside of it. */
export function targetBelow({ base = '' }: Upstream, target: string): string | null {
  if (base === '') return target;
  const readings = pathReadings(`${base}${pathOf(target)}`);
  if (readings === null) return null;
  for (const reading of readings) if (!isBelow(reading, base) || reading.split('/').some(climbs)) return null;
  return `${base}${target}`;
}

function pathOf(target: string): string {
  const query = target.indexOf('?');
  return query < 0 ? target : target.slice(0, query);
}
