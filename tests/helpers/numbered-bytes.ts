// Bytes in numbered blocks: a lost, doubled or moved block changes their hash.
import { createHash } from 'node:crypto';

const blockBytes = 65_536;

export function* numberedBytes(total: number): Generator<Buffer> {
  for (let at = 0; at < total; at += blockBytes) {
    const block = Buffer.alloc(Math.min(blockBytes, total - at), 'underpass');
    if (block.length >= 4) block.writeUInt32BE(at / blockBytes);
    yield block;
  }
}

export function hashOfNumbered(total: number): string {
  const hash = createHash('sha256');
  for (const block of numberedBytes(total)) hash.update(block);
  return hash.digest('hex');
}
