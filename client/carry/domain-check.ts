// Upstreams for domains that the tunnel does not have: a slip in `--upstream` is told before a visitor misses the service.

import type { CarryEvent, TunnelUpstreams } from './api.ts';
import type { Problem } from './problem.ts';

export interface DomainCheck {
  /** The public addresses of the tunnel, where an edge names them. */
  update(urls: readonly string[] | undefined): void;
  problem(): Problem | null;
}

/** An edge names so many addresses at most (docs/protocol.md, HELLO): of the others nothing is known. */
const mostUrls = 16;

export function createDomainCheck(upstreams: TunnelUpstreams, onEvent: (event: CarryEvent) => void): DomainCheck {
  const domains = upstreams.type === 'http' ? upstreams.list.flatMap(({ domain }) => domain ?? []) : [];
  let unknown: readonly string[] = [];
  let hosts: readonly (string | undefined)[] = [];
  let told = '';

  function problem(): Problem | null {
    if (unknown.length === 0) return null;
    return { code: 'no-visitors', detail: `${unknown.join(', ')}; the tunnel has ${hosts.join(', ') || 'none'}` };
  }

  return {
    update(urls) {
      hosts = (urls ?? []).map((url) => URL.parse(url)?.hostname);
      const areAll = urls !== undefined && urls.length < mostUrls;
      unknown = areAll ? domains.filter((domain) => !hosts.includes(domain)) : [];
      const found = problem();
      if (found !== null && found.detail !== told) onEvent({ kind: 'doubt', problem: found });
      told = found?.detail ?? '';
    },
    problem,
  };
}
