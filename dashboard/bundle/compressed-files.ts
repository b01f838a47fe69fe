// Leaves a brotli and a gzip form beside every built file of text; control/site/files.ts serves the smallest that a browser accepts.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Fonts and pictures are compressed already. */
const textFile = /\.(html|js|css|svg|webmanifest|txt)$/;
/** A smaller file fits one packet as it is. */
const packetBytes = 1_200;

export const compressedFiles = (): Plugin => ({
  name: 'underpass-compressed-files',
  apply: 'build',
  writeBundle: ({ dir = '' }) => {
    for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
      if (textFile.test(name)) compress(join(dir, name));
    }
  },
});

function compress(path: string): void {
  const content = readFileSync(path);
  if (content.length <= packetBytes) return;
  writeFileSync(`${path}.br`, brotliCompressSync(content));
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
}
