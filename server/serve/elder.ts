// A successor's view of its elder, the server process that started it and hands over to it. The elder's view: upgrade/successor.ts.

import { InheritedSockets } from '@underpass/edge/door/inherited-sockets.ts';
import type { Legacy } from '@underpass/edge/edge.ts';
import { ServerError } from '../process/error.ts';

/** The messages in their order; each side waits for the other's. Sent over the process channel of Node. */
export type ToSuccessor =
  | { readonly type: 'inherit'; readonly sockets: readonly string[]; readonly siblingPaths: readonly string[] }
  /** The edge of the elder has left its feed and its copy of the routes. */
  | { readonly type: 'edge-held' }
  /** The elder has unlocked the home folder. */
  | { readonly type: 'yours' }
  /** The service manager follows the successor. Without this message the elder ends only after its successor. */
  | { readonly type: 'followed' }
  /** The elder's last request is answered. */
  | { readonly type: 'quiet' }
  /** The elder's last connection is closed. It may stay, for its own parent. */
  | { readonly type: 'left' };

export type ToElder =
  | { readonly type: 'hold-edge' }
  /** Accepts connections. */
  | { readonly type: 'ready' }
  | { readonly type: 'locked' }
  | { readonly type: 'failed'; readonly reason: string };

/** The first descriptor of a socket that was passed on: after standard input, output and error, and the process channel. */
const firstPassedFd = 4;

/** The elder answers within milliseconds; a copy of the routes that it is writing may take seconds. */
const answerMs = 20_000;

export interface Elder {
  readonly legacy: Legacy;
  /** Call it before this process dials control as the same edge. */
  holdEdge(): Promise<void>;
  /** Tells that this process is ready; resolves once it may lock the home folder. */
  succeed(): Promise<void>;
  locked(): void;
  failed(reason: string): void;
  /** The elder may have changed the store until now. */
  onQuiet: () => void;
  /** Called once, when the elder has closed its last connection or has ended. */
  onLeft: () => void;
  /** The elder's supervisor should take this process's end for the elder's, but the elder has ended first. */
  onOrphaned: () => void;
}

/** The channel to the elder; rejects if this process was not started by one. */
export async function meetElder(): Promise<Elder> {
  if (!process.connected) throw new ServerError('usage', '--successor is only for a server that another one starts');
  const say = (message: ToElder): void => void process.send?.(message, undefined, undefined, () => {});
  let isOver = false;
  let hasParent = true;
  let hasLeft = false;
  const left = (): void => {
    if (!hasLeft) elder.onLeft();
    hasLeft = true;
  };
  const wait = <T extends ToSuccessor['type']>(type: T): Promise<Extract<ToSuccessor, { type: T }>> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new ServerError('upgrade-failed', 'the running server does not answer')), answerMs);
      const read = (message: ToSuccessor): void => {
        if (message.type !== type) return;
        clearTimeout(timer);
        process.off('message', read);
        resolve(message as Extract<ToSuccessor, { type: T }>);
      };
      process.on('message', read);
    });
  // Before it has taken over, a successor without its elder is nobody's.
  process.once('disconnect', () => {
    if (!isOver) process.exit(1);
    left();
    if (hasParent) elder.onOrphaned();
  });
  const { sockets, siblingPaths } = await wait('inherit');
  const elder: Elder = {
    legacy: { sockets: new InheritedSockets(sockets, firstPassedFd), siblingPaths },
    holdEdge: async () => {
      const held = wait('edge-held');
      say({ type: 'hold-edge' });
      await held;
    },
    succeed: async () => {
      const yours = wait('yours');
      say({ type: 'ready' });
      await yours;
    },
    locked: () => {
      isOver = true;
      // Open requests of the elder may take minutes.
      process.on('message', ({ type }: ToSuccessor) => {
        if (type === 'followed') hasParent = false;
        if (type === 'quiet') elder.onQuiet();
        if (type === 'left') left();
      });
      process.channel?.unref();
      say({ type: 'locked' });
    },
    failed: (reason) => say({ type: 'failed', reason }),
    onQuiet: () => {},
    onLeft: () => {},
    onOrphaned: () => {},
  };
  return elder;
}
