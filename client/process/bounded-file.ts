// Reads a file that a user named, up to a limit: a device or a disk image given by mistake must not fill the memory.
import { createReadStream } from 'node:fs';
import { ClientError, type ErrorCode, fileReason } from './error.ts';

/** Returns UTF-8 text. Rejects like readFile, and if the file is longer. */
export async function readBounded(path: string, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(path, { end: maxBytes })) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  if (bytes.length > maxBytes) throw new Error(`more than ${maxBytes} bytes`);
  return bytes.toString('utf8');
}

/** The same for a command: the error has this code, and names the file. */
export async function readNamed(path: string, maxBytes: number, code: ErrorCode, fix?: string): Promise<string> {
  return readBounded(path, maxBytes).catch((cause) => {
    throw new ClientError(code, `${path} (${fileReason(cause)})`, { cause, fix });
  });
}
