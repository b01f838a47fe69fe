// The calls about tunnels, ways to reach private ones, their domains and security groups.

import { domainHandlers } from './domain/calls.ts';
import { groupHandlers } from './group/calls.ts';
import { tunnelHandlers } from './tunnel/calls.ts';
import { domainCheckHandlers } from './tunnel/domain-check.ts';
import { ownCertificateHandlers } from './tunnel/own-certificate.ts';
import { reachHandlers } from './tunnel/reach.ts';

export const tunnelsHandlers = {
  ...domainHandlers,
  ...tunnelHandlers,
  ...domainCheckHandlers,
  ...ownCertificateHandlers,
  ...reachHandlers,
  ...groupHandlers,
};
