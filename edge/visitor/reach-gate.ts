// Takes the connections of `underpass reach`: checks who asks for which private tunnel, and passes each on to a client of it. They
// carry TLS between the two clients, and the edge does not have the key (docs/decisions/025).

import type { TLSSocket } from 'node:tls';
import type { RefusalCode } from '@underpass/wire/core/code.ts';
import { reachHost } from '@underpass/wire/core/open.ts';
import { carrierPath, edgeHeader, tunnelHeader, type UpgradeRequest } from '@underpass/wire/core/upgrade.ts';
import { acceptUpgrade, refuseUpgrade } from '@underpass/wire/handshake.ts';
import type { Logger } from 'pino';
import { encodeAlert } from '../core/destination.ts';
import type { Endpoints } from '../core/proxy-protocol.ts';
import { errorOfFailure } from '../core/visitor-error.ts';
import { findReacher, type Reacher } from '../routes/reacher.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import { Passthrough } from './passthrough.ts';
import type { VisitorContext } from './visitor-context.ts';

interface ReachGateOptions {
  readonly context: VisitorContext;
  readonly edgeId: string;
  readonly isDraining: () => boolean;
  readonly log: Logger;
}

/** The time that a refused client waits too. */
const retryAfterSeconds = 5;
const noBytes = Buffer.alloc(0);

export class ReachGate {
  readonly #options: ReachGateOptions;

  constructor(options: ReachGateOptions) {
    this.#options = options;
  }

  receive(socket: TLSSocket, request: UpgradeRequest, ends: Endpoints): void {
    const { context, edgeId, log } = this.#options;
    const tunnel = context.table.tunnels.get(request.headers.get(tunnelHeader) ?? '') ?? null;
    const reacher = tunnel && findReacher(tunnel.feed, request.token, Date.now());
    const refusal = this.#refusal(request, tunnel, reacher, ends);
    if (refusal !== null || tunnel === null || reacher === null) {
      log.info({ address: ends.sourceAddress, tunnel: reacher && tunnel?.feed.name, refusal }, 'reach refused');
      refuseUpgrade(socket, refusal ?? 'token-refused', retryAfterSeconds);
      return;
    }
    tunnel.countConnection();
    tunnel.reached(reacher, Date.now());
    acceptUpgrade(socket, request, { [edgeHeader]: edgeId });
    new Passthrough(context, socket, { tunnel, host: reachHost, kind: 'tcp', ends, reacher }, noBytes, (code) => {
      context.counters.countError(errorOfFailure(code));
      socket.end(encodeAlert('internal_error'), () => socket.destroy());
    });
  }

  /** A tunnel that does not exist and a secret that opens nothing get the same answer. */
  #refusal({ path }: UpgradeRequest, tunnel: TunnelState | null, reacher: Reacher | null, ends: Endpoints): RefusalCode | null {
    const { context, isDraining } = this.#options;
    if (path !== carrierPath) return 'bad-request';
    if (!context.table.loaded) return 'unready';
    if (isDraining()) return 'draining';
    if (tunnel === null || reacher === null) return 'token-refused';
    // The door admits everybody who dials the region's own host, as a client; the last tenth is theirs.
    if (context.limiter.isFullForVisitors) return 'unready';
    const refusal = tunnel.refusal(ends.sourceAddress);
    if (refusal === null) return null;
    tunnel.countConnection();
    context.counters.countError(refusal);
    const seen = context.requestLog.beginConnection({ tunnel, address: ends.sourceAddress, version: '' }, reachHost);
    seen?.answered(0, refusal);
    seen?.end();
    return refusal === 'UNDERPASS_SUSPENDED' ? 'tunnel-suspended' : 'denied';
  }
}
