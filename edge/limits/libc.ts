// The two functions of the C library that Node has no door to, by node:ffi. Each is null where the runtime or the system has
// it not, and its users do without.

import type { FunctionSignature } from 'node:ffi';

type Receive = (descriptor: number, into: Buffer, length: bigint, flags: number) => number;
type Trim = (keptBytes: bigint) => number;

/** recv(2). -1 where there is nothing or the connection is broken. */
export const receive = find<Receive>('recv', { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i32' });

/** Gives free memory back to the system, from the middle too, where the library otherwise gives only its end (glibc). */
export const trimMemory = find<Trim>('malloc_trim', { arguments: ['u64'], return: 'i32' });

function find<Callable>(name: string, signature: FunctionSignature): Callable | null {
  if (process.platform !== 'linux') return null;
  const { emitWarning } = process;
  try {
    // That it is experimental is known; the log of an edge is not the place to say so.
    process.emitWarning = () => {};
    const { dlopen } = process.getBuiltinModule('node:ffi');
    return dlopen(null, { [name]: signature }).functions[name] as unknown as Callable;
  } catch {
    return null;
  } finally {
    process.emitWarning = emitWarning;
  }
}
