// The public port of a tcp tunnel: where visitors connect, whether the edges listen there, and for how long it is the project's.

import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import { portProblems } from '@underpass/rules/tunnel/port-range.ts';
import { tcpAddress, tcpHostPort } from '@underpass/rules/tunnel/tcp-address.ts';
import { Banner } from '../../ui/banner.tsx';
import { Card } from '../../ui/card.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';

export function PublicPort({ tunnel }: { readonly tunnel: Tunnel }) {
  const address = tcpAddress(tunnel);
  return (
    <Card title="Public port">
      {address !== null && (
        <div className="grid gap-3">
          <PortProblem tunnel={tunnel} />
          <p className="flex min-w-0 items-center gap-1">
            <span className="min-w-0 font-mono font-semibold wrap-anywhere">{address}</span>
            <CopyButton text={tcpHostPort(tunnel) ?? ''} what="host and port" />
          </p>
          <p className="text-sm text-ink-soft">
            Any TCP client can connect that the security group allows. The port is this tunnel's for its life; no other project
            gets it for {durations.portRestDays} days after the tunnel is deleted.
          </p>
        </div>
      )}
    </Card>
  );
}

function PortProblem({ tunnel: { portProblem } }: { readonly tunnel: Tunnel }) {
  if (portProblem === undefined) return null;
  return (
    <Banner tone="warn" title="Visitors may not reach this port.">
      {portProblems[portProblem]} Please ask the operator of the region.
    </Banner>
  );
}
