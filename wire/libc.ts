// Three functions of the C library that Node does not offer, called with node:ffi. Each is null if the runtime or the system
// lacks it; callers must do without it then.

import type { FunctionSignature } from 'node:ffi';

type Receive = (descriptor: number, into: Buffer, length: bigint, flags: number) => number;
type Trim = (keptBytes: bigint) => number;

/** recv(2). -1 if nothing is there or the connection is broken. */
export const receive = find<Receive>('recv', { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i32' });

/** Returns free memory to the system, from the middle of the heap too; on its own glibc returns only the end. */
export const trimMemory = find<Trim>('malloc_trim', { arguments: ['u64'], return: 'i32' });

type Advise = (address: bigint, bytes: bigint, advice: number) => number;

/** madvise(2). The compiled client has another module for C functions, which is loaded by the first call. */
export function findAdvise(): Advise | null {
  if (process.versions.bun === undefined) return find<Advise>('madvise', { arguments: ['u64', 'u64', 'i32'], return: 'i32' });
  if (process.platform !== 'linux') return null;
  try {
    const { dlopen } = process.getBuiltinModule('bun:ffi') as unknown as BunFfi;
    return dlopen('libc.so.6', { madvise: { args: ['u64', 'u64', 'i32'], returns: 'i32' } }).symbols.madvise as Advise;
  } catch {
    return null;
  }
}

interface BunFfi {
  dlopen(
    library: string,
    functions: Readonly<Record<string, { readonly args: readonly string[]; readonly returns: string }>>,
  ): { readonly symbols: Readonly<Record<string, unknown>> };
}

function find<Callable>(name: string, signature: FunctionSignature): Callable | null {
  if (process.platform !== 'linux') return null;
  const { emitWarning } = process;
  try {
    // Keeps the warning that node:ffi is experimental out of the log.
    process.emitWarning = () => {};
    const { dlopen } = process.getBuiltinModule('node:ffi');
    return dlopen(null, { [name]: signature }).functions[name] as unknown as Callable;
  } catch {
    return null;
  } finally {
    process.emitWarning = emitWarning;
  }
}
