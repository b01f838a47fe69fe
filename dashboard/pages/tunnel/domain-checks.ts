// The check of a tunnel's ingress domains (spec 4, Tunnel domain DNS): one call for all. Checks again by itself while a domain
// is not reachable, or its check has failed.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { IngressDomain, Tunnel } from '@underpass/rules/entity/entity.ts';
import type { TunnelDomains } from '@underpass/rules/entity/resource.ts';
import { type DomainState, describeDomain } from '@underpass/rules/screen/domain-state.ts';
import { text } from '@underpass/rules/text/text.ts';
import { useEffect, useState } from 'react';
import { type Ask, askFor } from '../../api/answers.ts';
import { isApiError, mayRetry, messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { everMoreRarely, useAgain, useReload } from '../../api/use-again.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { formatDay } from '../../ui/date/date-format.ts';

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

type Check = Ask<TunnelDomains>;

/** `host`: the one domain of a page. */
export const askDomainChecks = (project: string, name: string, host?: string): Check =>
  askFor(tunnelCalls.checkTunnelDomains, { project, name, host });

/** `only`: the one domain of a page. Such a check looks up its name, and tells its DNS, before the domain is verified too. */
export function useDomainChecks(project: string, tunnel: CheckedTunnel, only?: IngressDomain): DomainChecks {
  const domains = only ? [only] : tunnel.ingressDomains;
  const [kind, setKind] = useState<Kind>('first');
  const { data, error, busy, reloadBy } = useFetched(askDomainChecks(project, tunnel.name, only?.name));
  const failure = error === undefined ? undefined : (messageOf(error) ?? text.error.fallback);
  const stateOf = (domain: IngressDomain) =>
    describeDomain(only ? { ...domain, verified: true } : domain, data, failure, formatDay);
  const start = (next: Kind) => {
    const input = { project, name: tunnel.name, host: only?.name, ...(next === 'asked' && { fresh: '1' as const }) };
    setKind(next);
    reloadBy((signal) => callApi(tunnelCalls.checkTunnelDomains, input, { signal, background: next === 'again' }));
  };
  // A domain that is new, or verified now, needs a check.
  useReload(domains.map(({ name, verified }) => `${name}${verified ? '' : '?'}`).join(' '), () => start('first'));
  // Control asks silent name servers last in the next check: domains that waited behind them have an answer then.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each check that the person waits for.
  useEffect(() => {
    if (kind !== 'again' && data?.domains.some(({ unchecked }) => unchecked === 'unanswered')) start('again');
  }, [data]);
  useAgain(() => start('again'), mayChange(domains.map(stateOf), error) ? everMoreRarely : undefined);
  return { answer: data, failure, stateOf, busy: busy && kind !== 'again', reload: () => start('asked') };
}

/** A tunnel's page waits for no unverified domain: the domain's own page verifies it. */
const mayChange = (states: readonly DomainState[], error: unknown): boolean =>
  error === undefined
    ? states.some(({ badge, isFine }) => !isFine && badge !== 'loading' && badge !== 'unverified')
    : mayRetry(error) && !isSignedOut(error);

/** A check that nobody waits for asks for no sign-in. */
const isSignedOut = (error: unknown): boolean => isApiError(error) && error.status === 401;
