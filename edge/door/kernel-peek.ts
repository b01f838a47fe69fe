// A look at the first bytes of a connection that leaves them in the kernel, for whoever gets the connection to read.
// TLS that is handed its first piece reads all others into a buffer as small as that: bulk costs a tenth more of all CPU
// (docs/decisions/008).

import type { Socket } from 'node:net';
import { receive } from '../limits/libc.ts';

/** The longest look: a ClientHello of the largest size that the door takes, in records of any size that make sense. */
const peekBytes = 32 * 1024;
const seen = Buffer.allocUnsafeSlow(peekBytes);
const nothing = Buffer.alloc(0);
/** Linux. */
const peek = 0x02;
const atOnce = 0x40;

/** The parts of a socket's handle that Node has no door to; a test fails when a new Node has them no more. */
interface Handle {
  readonly fd: number;
  reading: boolean;
  onread: (...args: unknown[]) => void;
  useUserBuffer(buffer: Uint8Array): void;
  readStart(): number;
  readStop(): number;
}

/** Otherwise nothing is seen, and everything has to be read. */
export const canPeek = receive !== null;

const handleOf = (socket: Socket): Handle | null => (socket as unknown as { readonly _handle: Handle | null })._handle;

/**
 * Calls look once, when the first bytes are there, or with none where there will be none or none can be seen. They are
 * lent. Nothing may have read the socket before. Whoever reads it next uses readBorrowed, or TLS.
 */
export function peekFirst(socket: Socket, look: (bytes: Buffer) => void): void {
  const handle = handleOf(socket);
  if (receive === null || handle === null) {
    look(nothing);
    return;
  }
  const { onread } = handle;
  // To read into a buffer of no length is to be told that there is something, and to leave it where it is.
  handle.useUserBuffer(nothing);
  handle.onread = () => {
    handle.onread = onread;
    handle.readStop();
    handle.reading = false;
    look(seen.subarray(0, receiveInto(seen, handle, peek)));
  };
  if (handle.reading) return;
  handle.reading = true;
  handle.readStart();
}

/** Reads what a look has seen, and no more. */
export function takePeeked(socket: Socket, length: number): Buffer {
  const taken = Buffer.allocUnsafeSlow(length);
  const handle = handleOf(socket);
  return taken.subarray(0, handle === null ? 0 : receiveInto(taken, handle, 0));
}

/** The number of bytes; none where there are none, and none any more. */
function receiveInto(buffer: Buffer, { fd }: Handle, flags: number): number {
  const bytes = receive?.(fd, buffer, BigInt(buffer.length), flags | atOnce) ?? 0;
  return Math.max(bytes, 0);
}
