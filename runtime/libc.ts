// Functions of the C library that Node does not offer, called with node:ffi, or with bun:ffi in the compiled client. Each is
// null if the runtime or the system lacks it; callers must do without it then.

type CType = 'i32' | 'u32' | 'u64' | 'buffer';

interface Signature {
  readonly arguments: readonly CType[];
  readonly return: CType;
}

type Receive = (descriptor: number, into: Buffer, length: bigint, flags: number) => number;
type Trim = (keptBytes: bigint) => number;
type Advise = (address: bigint, bytes: bigint, advice: number) => number;

const isBun = process.versions.bun !== undefined;

/** recv(2). -1 if nothing is there or the connection is broken. Only the edge needs it, which does not run in Bun. */
export const receive = isBun ? null : find<Receive>('recv', { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i32' });

/** Returns free memory to the system, from the middle of the heap too; on its own glibc returns only the end. */
export const trimMemory = isBun ? null : find<Trim>('malloc_trim', { arguments: ['u64'], return: 'i32' });

/** madvise(2). The compiled client loads its module for C functions with the first call. */
export const findAdvise = (): Advise | null => find<Advise>('madvise', { arguments: ['u64', 'u64', 'i32'], return: 'i32' });

export interface SocketCalls {
  /** socket(2): a new descriptor, or -1. */
  readonly open: (family: number, type: number, protocol: number) => number;
  readonly close: (descriptor: number) => number;
  /** setsockopt(2) and getsockopt(2): 0 is success. `length` is a u32 in memory: the room, then the length of the answer. */
  readonly set: (descriptor: number, level: number, name: number, value: Uint8Array, length: number) => number;
  readonly get: (descriptor: number, level: number, name: number, value: Uint8Array, length: Uint8Array) => number;
}

/** All of them or none. */
export function findSocketCalls(): SocketCalls | null {
  const open = find<SocketCalls['open']>('socket', { arguments: ['i32', 'i32', 'i32'], return: 'i32' });
  const close = find<SocketCalls['close']>('close', { arguments: ['i32'], return: 'i32' });
  const set = find<SocketCalls['set']>('setsockopt', { arguments: ['i32', 'i32', 'i32', 'buffer', 'u32'], return: 'i32' });
  const get = find<SocketCalls['get']>('getsockopt', { arguments: ['i32', 'i32', 'i32', 'buffer', 'buffer'], return: 'i32' });
  return open && close && set && get && { open, close, set, get };
}

function find<Callable>(name: string, signature: Signature): Callable | null {
  if (process.platform !== 'linux') return null;
  return isBun ? findInBun<Callable>(name, signature) : findInNode<Callable>(name, signature);
}

interface BunFfi {
  dlopen(
    library: string,
    functions: Readonly<Record<string, { readonly args: readonly string[]; readonly returns: string }>>,
  ): { readonly symbols: Readonly<Record<string, unknown>> };
}

function findInBun<Callable>(name: string, signature: Signature): Callable | null {
  const args = signature.arguments.map((type) => (type === 'buffer' ? 'ptr' : type));
  try {
    const { dlopen } = process.getBuiltinModule('bun:ffi') as unknown as BunFfi;
    return dlopen('libc.so.6', { [name]: { args, returns: signature.return } }).symbols[name] as Callable;
  } catch {
    return null;
  }
}

function findInNode<Callable>(name: string, signature: Signature): Callable | null {
  const { emitWarning } = process;
  try {
    // Keeps the warning that node:ffi is experimental out of the log.
    process.emitWarning = () => {};
    const { dlopen } = process.getBuiltinModule('node:ffi');
    const { functions } = dlopen(null, { [name]: { arguments: [...signature.arguments], return: signature.return } });
    return functions[name] as unknown as Callable;
  } catch {
    return null;
  } finally {
    process.emitWarning = emitWarning;
  }
}
