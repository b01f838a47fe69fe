// Finds domains in `--upstream` that the tunnel does not have, so that a typing error is reported before a visitor meets it.

import { coversHost } from '@underpass/rules/names/hostname.ts';
import { parseUrl } from '@underpass/rules/text/parse-url.ts';
import type { CarryEvent, TunnelUpstreams } from './api.ts';
import type { Problem } from './problem.ts';

interface DomainCheck {
  /** Takes the public addresses of the tunnel that an edge sends; undefined if it sends none. */
  update(urls: readonly string[] | undefined): void;
  problem(): Problem | null;
}

/** An edge sends at most this many addresses (docs/protocol.md, HELLO and INFO), so a list of that length may lack some. */
const maxUrls = 16;

export function createDomainCheck(upstreams: TunnelUpstreams, onEvent: (event: CarryEvent) => void): DomainCheck {
  const domains = upstreams.type === 'http' ? upstreams.list.flatMap(({ domain }) => domain ?? []) : [];
  let unknown: readonly string[] = [];
  let hosts: readonly string[] = [];
  let reported = '';

  function problem(): Problem | null {
    if (unknown.length === 0) return null;
    return { code: 'no-visitors', detail: `${unknown.join(', ')}; the tunnel has ${hosts.join(', ') || 'none'}` };
  }

  return {
    update(urls) {
      hosts = (urls ?? []).flatMap((url) => parseUrl(url)?.hostname ?? []);
      const areAll = urls !== undefined && urls.length < maxUrls;
      unknown = areAll ? domains.filter((domain) => !coversHost(hosts, domain)) : [];
      const found = problem();
      if (found !== null && found.detail !== reported) onEvent({ kind: 'doubt', problem: found });
      reported = found?.detail ?? '';
    },
    problem,
  };
}
