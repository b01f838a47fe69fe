// Ends a socket with a TCP reset, so that its peer does not take the end for a proper one.

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

/**
 * Resets if the transport can, else destroys. Under TLS the TCP connection below is reset: most programs
 * overlook that the close_notify of TLS is missing.
 */
export function resetSocket(socket: Duplex): void {
  const below = socket instanceof TLSSocket ? parentOf(socket) : socket;
  // TLS within TLS: `underpass reach`.
  if (below instanceof TLSSocket) resetSocket(below);
  else if (below instanceof Socket && !isEnding(socket) && !isEnding(below) && !below.connecting) below.resetAndDestroy();
  else socket.destroy();
}

/** True while an end() is under way: libuv refuses to reset, and Node (26.10) then never closes the descriptor. */
const isEnding = (socket: Duplex): boolean => socket.writableEnded && !socket.writableFinished;

/** The connection that a TLS socket was put on; undefined if the TLS socket dialled it itself. */
export const parentOf = (socket: TLSSocket): Socket | undefined => (socket as TLSSocket & { readonly _parent?: Socket })._parent;
