// Peeks at the first bytes of a connection and leaves them in the kernel, so that TLS reads the connection from its start.
// If TLS gets its first piece from us, it reads all later pieces into a buffer of that size, and bulk transfer costs a tenth
// more CPU (docs/decisions/008).

import type { Socket } from 'node:net';
import { receive } from '@underpass/runtime/libc.ts';

/** The longest peek: the largest ClientHello that the door takes, with room for the headers of many small records. */
const peekBytes = 32 * 1024;
const seen = Buffer.allocUnsafeSlow(peekBytes);
const nothing = Buffer.alloc(0);
/** Linux: MSG_PEEK and MSG_DONTWAIT of recv(2). */
const peek = 0x02;
const dontWait = 0x40;

/** Internals of a socket's handle. A test fails if a new version of Node lacks them. */
interface Handle {
  readonly fd: number;
  reading: boolean;
  onread: (...args: unknown[]) => void;
  useUserBuffer(buffer: Uint8Array): void;
  readStart(): number;
  readStop(): number;
}

const handleOf = (socket: Socket): Handle | null => (socket as unknown as { readonly _handle: Handle | null })._handle;

/**
 * Calls `look` once with the first bytes, or with none if the connection ends or the system cannot peek. The bytes are valid
 * until `look` returns. Call it before anything reads the socket; the next reader must be readShared or TLS.
 */
export function peekFirst(socket: Socket, look: (bytes: Buffer) => void): void {
  const handle = handleOf(socket);
  if (receive === null || handle === null) {
    look(nothing);
    return;
  }
  const { onread } = handle;
  // A zero-length read signals readability and consumes nothing.
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

/** Reads exactly the bytes that were peeked at. */
export function takePeeked(socket: Socket, length: number): Buffer {
  const taken = Buffer.allocUnsafeSlow(length);
  const handle = handleOf(socket);
  return taken.subarray(0, handle === null ? 0 : receiveInto(taken, handle, 0));
}

/** The number of bytes received; 0 at the end and after an error. */
function receiveInto(buffer: Buffer, { fd }: Handle, flags: number): number {
  const bytes = receive?.(fd, buffer, BigInt(buffer.length), flags | dontWait) ?? 0;
  return Math.max(bytes, 0);
}
