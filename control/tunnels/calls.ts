// The calls about tunnels, their domains and security groups.

import { createDomainCalls, type DomainDeps } from './domain/calls.ts';
import { createGroupCalls, type GroupDeps } from './group/calls.ts';
import { createTunnelCalls, type TunnelDeps } from './tunnel/calls.ts';
import { createDomainCheckCalls, type DomainCheckDeps } from './tunnel/domain-check.ts';

export const createTunnelsCalls = (deps: DomainDeps & TunnelDeps & DomainCheckDeps & GroupDeps) => ({
  ...createDomainCalls(deps),
  ...createTunnelCalls(deps),
  ...createDomainCheckCalls(deps),
  ...createGroupCalls(deps),
});
