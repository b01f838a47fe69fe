// Opens a carrier: dials, upgrades, and waits for the answer to the first PING. By then the edge has our HELLO and may send
// visitors, so a user who reads "connected" can open the page at once.

import { aTunnel, type TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { Session, SessionEnd, Stream } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import type { WindowBudget } from '@underpass/wire/core/credit.ts';
import { createSession } from '@underpass/wire/session/session.ts';
import { after } from './after.ts';
import { type DialledCarrier, type DialOptions, dialEdge } from './dial.ts';
import { CarryError } from './problem.ts';

export interface Carrier {
  readonly session: Session;
  /** The edge's id, or its address if it gave none. */
  readonly edge: string;
  readonly address: string;
  readonly sinceMs: number;
  /** Called once, when the session is over. The owner sets it in the same turn of the event loop in which it gets the carrier. */
  onEnd: (end: SessionEnd) => void;
}

export interface CarrierOptions extends DialOptions {
  /** The type of the tunnel that this client carries. */
  readonly type: TunnelType;
  /** Serves only a private tunnel, and no private tunnel otherwise: its streams must never reach an upstream in plain text. */
  readonly isPrivate: boolean;
  readonly clock: SessionClock;
  /** The budget of all carriers of the client together. */
  readonly budget: WindowBudget;
  /** Called before the HELLO, so before the edge can send visitors. */
  readonly isUnwanted: (edge: string) => boolean;
  readonly onStream: (stream: Stream) => void;
  /** The session exists and counts bytes, connected or not. */
  readonly onSessionStart: (session: Session) => void;
  readonly onSessionEnd: (session: Session) => void;
}

/** Time from the 101 response to the answer to the first PING, which follows the HELLO. */
const greetingTimeoutMs = 10_000;

export async function openCarrier(options: CarrierOptions): Promise<Carrier> {
  const dialled = await dialEdge(options);
  const { clock, budget, software } = options;
  if (dialled.edge !== null && options.isUnwanted(dialled.edge)) {
    dialled.socket.destroy();
    throw new CarryError('edge-busy', dialled.edge);
  }
  const info = options.isPrivate ? { software, private: true } : { software };
  const session = createSession(dialled.socket, { side: 'dialer', peerMayOpen: true, info, budget, clock });
  session.onStream = options.onStream;
  options.onSessionStart(session);
  return await awaitGreeting(session, dialled, options);
}

const wrongType = (tunnel: string, type: TunnelType): CarryError => new CarryError('wrong-type', `${tunnel} is ${aTunnel(type)}`);

function awaitGreeting(session: Session, { edge, address }: DialledCarrier, options: CarrierOptions): Promise<Carrier> {
  return new Promise((resolve, reject) => {
    const { clock, region } = options;
    const carrier: Carrier = { session, edge: edge ?? address, address, sinceMs: clock.now(), onEnd: () => {} };
    const cancel = after(clock, greetingTimeoutMs, () => session.close());
    session.onReady = () => {
      const { type = options.type, tunnel = region.host } = session.peerInfo;
      // An older edge does not know the type, and opens no stream of it.
      const isUnknown = options.type === 'tcp' && session.peerInfo.tcp !== true;
      const isPrivate = session.peerInfo.private === true;
      const fits = type === options.type && isPrivate === options.isPrivate;
      if (fits && !isUnknown) return;
      if (type === options.type && !isUnknown) reject(new CarryError(isPrivate ? 'tunnel-private' : 'tunnel-public', tunnel));
      else
        reject(isUnknown ? new CarryError('version', `${region.authority} knows no tcp tunnels yet`) : wrongType(tunnel, type));
      session.close();
    };
    // Resolves a microtask later, so that a GOAWAY in the same read as the answer still rejects: the carrier has no owner yet.
    session.onProof = () => {
      cancel();
      queueMicrotask(() => resolve(carrier));
    };
    // The edge drains: streams that it has already opened finish, and this client dials again.
    session.onGoaway = (code) => {
      if (code !== 'drain') return;
      cancel();
      reject(new CarryError('edge-busy', region.authority));
    };
    session.onClose = (end) => {
      cancel();
      options.onSessionEnd(session);
      reject(new CarryError(end.code === 'version' ? 'version' : 'connection-lost', `${region.authority} (${end.code})`));
      carrier.onEnd(end);
    };
  });
}
