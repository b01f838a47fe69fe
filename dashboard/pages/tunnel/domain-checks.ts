// The check of a tunnel's ingress domains (spec 4, Tunnel domain DNS): one call for all. Checks again by itself while a domain
// is not reachable, or its check has failed.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { IngressDomain, Tunnel } from '@underpass/rules/entity/entity.ts';
import type { TunnelDomains } from '@underpass/rules/entity/resource.ts';
import { type DomainState, describeDomain } from '@underpass/rules/screen/domain-state.ts';
import { text } from '@underpass/rules/text/text.ts';
import { useEffect, useRef } from 'react';
import { isApiError, mayRetry, messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useRecheck } from '../../api/use-recheck.ts';

export interface DomainChecks {
  /** undefined until the first answer. */
  readonly answer: TunnelDomains | undefined;
  /** Why the last check failed; an older answer stays. */
  readonly failure: string | undefined;
  readonly stateOf: (domain: IngressDomain) => DomainState;
  /** A check that the person asked for, or the first one, is under way. */
  readonly busy: boolean;
  /** Asks the name servers again, without the kept answers. */
  readonly reload: () => void;
}

type CheckedTunnel = Pick<Tunnel, 'name' | 'type' | 'ingressDomains'>;
type Kind = 'first' | 'asked' | 'again';

/** `only`: the one domain of a page. Such a check looks up its name, and tells its DNS, before the domain is verified too. */
export function useDomainChecks(project: string, tunnel: CheckedTunnel, only?: IngressDomain): DomainChecks {
  const domains = only ? [only] : tunnel.ingressDomains;
  const kind = useRef<Kind>('first');
  // Another list of domains, or one that is verified now, is another check.
  const key = [project, tunnel.name, ...domains.map(({ name, verified }) => `${name}${verified ? '' : '?'}`)].join(' ');
  const { data, error, busy, reload } = useFetched(key, (signal) => {
    const input = {
      project,
      name: tunnel.name,
      ...(only && { host: only.name }),
      ...(kind.current === 'asked' && { fresh: '1' as const }),
    };
    return callApi(tunnelCalls.checkTunnelDomains, input, { signal, background: kind.current === 'again' });
  });
  const failure = error === undefined ? undefined : (messageOf(error) ?? text.error.fallback);
  const stateOf = (domain: IngressDomain) =>
    describeDomain(only ? { ...domain, verified: true } : domain, data, failure, formatDay);
  const start = (next: Kind) => {
    kind.current = next;
    reload();
  };
  // Control asks silent name servers last in the next check: domains that waited behind them have an answer then.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each check that the person waits for.
  useEffect(() => {
    if (kind.current !== 'again' && data?.domains.some(({ unchecked }) => unchecked === 'unanswered')) start('again');
  }, [data]);
  useRecheck(mayChange(domains.map(stateOf), error), () => start('again'));
  return { answer: data, failure, stateOf, busy: busy && kind.current !== 'again', reload: () => start('asked') };
}

/** A tunnel's page waits for no unverified domain: the domain's own page verifies it. */
const mayChange = (states: readonly DomainState[], error: unknown): boolean =>
  error === undefined
    ? states.some(({ badge, isFine }) => !isFine && badge !== 'loading' && badge !== 'unverified')
    : mayRetry(error) && !isSignedOut(error);

/** A check that nobody waits for asks for no sign-in. */
const isSignedOut = (error: unknown): boolean => isApiError(error) && error.status === 401;

const formatDay = (iso: string): string => new Intl.DateTimeFormat('en-US', { dateStyle: 'medium' }).format(new Date(iso));
