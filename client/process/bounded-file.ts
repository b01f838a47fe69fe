// Reading a file that a person named: a device or a disk image by mistake costs no more than what was meant may be long.
import { createReadStream } from 'node:fs';

/** UTF-8. Rejects as readFile does, and where there is more. */
export async function readBounded(path: string, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(path, { end: maxBytes })) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  if (bytes.length > maxBytes) throw new Error(`more than ${maxBytes} bytes`);
  return bytes.toString('utf8');
}
