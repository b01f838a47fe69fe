// A look at the first bytes of a connection that leaves them in the kernel, for whoever gets the connection to read.
// TLS that is handed its first piece reads all others into a buffer as small as that: bulk costs a tenth more of all CPU
// (docs/decisions/008).

import type { Socket } from 'node:net';

/** The longest look: a ClientHello of the largest size that the door takes, in records of any size that make sense. */
const glanceBytes = 32 * 1024;
const seen = Buffer.allocUnsafeSlow(glanceBytes);
const nothing = Buffer.alloc(0);
/** Linux: MSG_PEEK | MSG_DONTWAIT. */
const peekNow = 0x02 | 0x40;

type Receive = (descriptor: number, into: Buffer, length: bigint, flags: number) => number;

/** The parts of a socket's handle that Node has no door to; a test fails when a new Node has them no more. */
interface Handle {
  readonly fd: number;
  reading: boolean;
  onread: (...args: unknown[]) => void;
  useUserBuffer(buffer: Uint8Array): void;
  readStart(): number;
  readStop(): number;
}

/** Null where the runtime or the system cannot; then what was looked at has been read. */
const receive = findReceive();

export const canGlance = receive !== null;

function findReceive(): Receive | null {
  if (process.platform !== 'linux') return null;
  const { emitWarning } = process;
  try {
    // That it is experimental is known; the log of an edge is not the place to say so.
    process.emitWarning = () => {};
    const { dlopen } = process.getBuiltinModule('node:ffi');
    return dlopen(null, { recv: { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i32' } }).functions.recv as Receive;
  } catch {
    return null;
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * Calls look once, when the first bytes are there, or with none where there will be none or none can be seen. They are
 * lent. Nothing may have read the socket before. Whoever reads it next uses readBorrowed, or TLS.
 */
export function glance(socket: Socket, look: (bytes: Buffer) => void): void {
  const handle = (socket as unknown as { readonly _handle: Handle | null })._handle;
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
    if (socket.destroyed) return;
    const bytes = receive(handle.fd, seen, BigInt(glanceBytes), peekNow);
    look(bytes > 0 ? seen.subarray(0, bytes) : nothing);
  };
  if (handle.reading) return;
  handle.reading = true;
  handle.readStart();
}
