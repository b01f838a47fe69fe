// Builds the inspector's page into one module of the client, client/inspect/page-files.mjs: every way to ship the client (from source,
// as a package, as a single file) takes a module along without a path to files. Its bytes load when the inspector starts.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { basicFonts } from '../bundle/basic-fonts.ts';
import { earlyScript } from '../bundle/early-script.ts';

const engineInDevelopment = 'http://127.0.0.1:4040';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

/** Writes the files into the module: compressed if that helps, else as they are. Gzip, because Firefox takes brotli over https only. */
function packPage(): Plugin {
  return {
    name: 'underpass-pack-page',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        const entries = Object.values(bundle).map((file) => {
          const bytes = Buffer.from(file.type === 'chunk' ? file.code : file.source);
          return packFile(file.fileName, bytes);
        });
        const lines = entries.map((entry) => `  ${JSON.stringify(entry)},\n`);
        writeFileSync(here('../../client/inspect/page-files.mjs'), `export const pageFiles = [\n${lines.join('')}];\n`);
      },
    },
  };
}

function packFile(fileName: string, bytes: Buffer): readonly [path: string, type: string, encoding: string, base64: string] {
  const type = types[fileName.split('.').at(-1) ?? ''];
  if (type === undefined) throw new Error(`the inspector's page has a file of an unknown type: ${fileName}`);
  const small = gzipSync(bytes, { level: 9 });
  const isSmaller = small.length < bytes.length * 0.95;
  const path = fileName === 'index.html' ? '/' : `/${fileName}`;
  return [path, type, isSmaller ? 'gzip' : '', (isSmaller ? small : bytes).toString('base64')];
}

export default defineConfig({
  root: here('.'),
  publicDir: false,
  plugins: [basicFonts(), react(), tailwindcss(), earlyScript(), packPage()],
  build: {
    write: false,
    // The page's policy forbids data: URIs.
    assetsInlineLimit: 0,
    // The first browsers that support light-dark().
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: { '/api': engineInDevelopment } },
});
