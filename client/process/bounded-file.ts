// Reads what others made, up to a limit: neither an endless answer nor a device given by mistake must fill the memory.
import { createReadStream } from 'node:fs';
import { ClientError, type ErrorCode, fileReason } from './error.ts';

/** Returns all bytes of a stream, or null if there are more. */
export async function gather(
  source: AsyncIterable<Uint8Array | string> | Iterable<never>,
  maxBytes: number,
): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    size += bytes.length;
    if (size > maxBytes) return null;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

/** Returns UTF-8 text. Rejects like readFile, and if the file is longer. */
export async function readBounded(path: string, maxBytes: number): Promise<string> {
  const bytes = await gather(createReadStream(path, { end: maxBytes }), maxBytes);
  if (bytes === null) throw new Error(`more than ${maxBytes} bytes`);
  return bytes.toString('utf8');
}

/** The same for a command: the error has this code, and names the file. */
export async function readNamed(path: string, maxBytes: number, code: ErrorCode, fix?: string): Promise<string> {
  return readBounded(path, maxBytes).catch((cause) => {
    throw new ClientError(code, `${path} (${fileReason(cause)})`, { cause, fix });
  });
}
