// A carrier that stands: dialled, upgraded, and its first PING answered, so that the edge has our HELLO and may lead visitors
// here. Whoever is told "connected" may open the page at once.

import type { TunnelType } from '@underpass/rules/entity.ts';
import type { Session, SessionEnd, Stream } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import { createSession } from '@underpass/wire/session.ts';
import { after } from './after.ts';
import { type DialledCarrier, type DialOptions, dialEdge } from './dial.ts';
import { CarryError } from './problem.ts';

export interface Carrier {
  readonly session: Session;
  /** The edge's id, or its address where it gave none. */
  readonly edge: string;
  readonly address: string;
  readonly sinceMs: number;
  /** Once, when the session is over. Its holder sets it in the turn in which it gets the carrier. */
  onEnd: (end: SessionEnd) => void;
}

export interface CarrierOptions extends DialOptions {
  /** Of the tunnel that is to be carried. */
  readonly type: TunnelType;
  readonly clock: SessionClock;
  /** Asked before the HELLO, and so before the edge leads anybody here. */
  readonly isUnwanted: (edge: string) => boolean;
  readonly onStream: (stream: Stream) => void;
  /** The session exists; its counters count. */
  readonly onBorn: (session: Session) => void;
  readonly onDead: (session: Session) => void;
}

/** From the 101 to the answer to the first PING, which follows the HELLO. */
const greetingTimeoutMs = 10_000;

export async function openCarrier(options: CarrierOptions): Promise<Carrier> {
  const dialled = await dialEdge(options);
  const { clock, software } = options;
  if (dialled.edge !== null && options.isUnwanted(dialled.edge)) {
    dialled.socket.destroy();
    throw new CarryError('edge-busy', dialled.edge);
  }
  const session = createSession(dialled.socket, { side: 'dialer', peerMayOpen: true, info: { software }, clock });
  session.onStream = options.onStream;
  options.onBorn(session);
  return await greeted(session, dialled, options);
}

function greeted(session: Session, { edge, address }: DialledCarrier, options: CarrierOptions): Promise<Carrier> {
  return new Promise((resolve, reject) => {
    const { clock, region } = options;
    const carrier: Carrier = { session, edge: edge ?? address, address, sinceMs: clock.now(), onEnd: () => {} };
    const cancel = after(clock, greetingTimeoutMs, () => session.close());
    session.onReady = () => {
      const { type = options.type, tunnel = region.host } = session.peerInfo;
      if (type === options.type) return;
      reject(new CarryError('wrong-type', `${tunnel} is an ${type} tunnel`));
      session.close();
    };
    // A GOAWAY that comes in the same read as the answer counts: it has no holder yet who would hear it.
    session.onProof = () => {
      cancel();
      queueMicrotask(() => resolve(carrier));
    };
    // What it leads here meanwhile is finished; it takes nothing new.
    session.onGoaway = (code) => {
      if (code !== 'drain') return;
      cancel();
      reject(new CarryError('edge-busy', region.authority));
    };
    session.onClose = (end) => {
      cancel();
      options.onDead(session);
      reject(new CarryError(end.code === 'version' ? 'version' : 'connection-lost', `${region.authority} (${end.code})`));
      carrier.onEnd(end);
    };
  });
}
