// What takes every stream of a private tunnel: TLS with the key of this client, then the visitor's grant, then the upstream.

import type { Upstream } from '@underpass/rules/tunnel/upstream.ts';
import type { CarryGateway } from '../carry/api.ts';
import { type GatewayOptions, gatewayLimits, startGateway } from './gateway.ts';
import { parseIdentity } from './identity.ts';
import { isGrant } from './reach-key.ts';

/** What a visitor asks for who has no grant: a member, or the holder of a ticket that was made without the key. */
export const withoutGrant = 'member';

interface ReachGatewayOptions extends Pick<GatewayOptions, 'now' | 'report' | 'limits'> {
  /** PEM. */
  readonly reachKey: string;
  readonly upstream: Upstream;
  readonly ticketsOnly: boolean;
}

export function startReachGateway({
  reachKey,
  upstream,
  ticketsOnly,
  limits,
  ...rest
}: ReachGatewayOptions): Promise<CarryGateway> {
  const identity = parseIdentity(reachKey)!;
  const admits = (name: string): boolean => (name === withoutGrant ? !ticketsOnly : isGrant(identity, name, rest.now()));
  return startGateway({
    ...rest,
    // The edge has authorised all of them, and one address may be a pool of connections far away.
    limits: { waitingPerAddress: gatewayLimits.waiting, ...limits },
    identity,
    kind: 'reach',
    passesPreface: true,
    find: (name) => (admits(name) ? { name: name === withoutGrant ? name : 'ticket', upstream } : null),
  });
}
