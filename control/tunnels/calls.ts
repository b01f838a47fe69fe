// The calls about tunnels, their domains and security groups.

import { createDomainCalls, type DomainDeps } from './domain/calls.ts';
import { createGroupCalls, type GroupDeps } from './group/calls.ts';
import { createTunnelCalls, type TunnelDeps } from './tunnel/calls.ts';
import { createDomainCheckCalls, type DomainCheckDeps } from './tunnel/domain-check.ts';
import { createOwnCertificateCalls, type OwnCertificateDeps } from './tunnel/own-certificate.ts';
import { createReachCalls } from './tunnel/reach.ts';

export const createTunnelsCalls = (deps: DomainDeps & TunnelDeps & DomainCheckDeps & OwnCertificateDeps & GroupDeps) => ({
  ...createDomainCalls(deps),
  ...createTunnelCalls(deps),
  ...createReachCalls(deps),
  ...createDomainCheckCalls(deps),
  ...createOwnCertificateCalls(deps),
  ...createGroupCalls(deps),
});
