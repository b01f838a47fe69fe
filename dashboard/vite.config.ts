// Builds the dashboard into dist/ as plain files, without inline scripts or styles, which control's strict CSP forbids.
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { basicFonts } from './bundle/basic-fonts.ts';
import { chunkGroups } from './bundle/chunks.ts';
import { compiledAhead } from './bundle/compiled-ahead.ts';
import { compressedFiles } from './bundle/compressed-files.ts';
import { earlyScript } from './bundle/early-script.ts';
import { firstLoad } from './bundle/first-load.ts';

const controlInDevelopment = 'http://localhost:8400';

export default defineConfig({
  plugins: [basicFonts(), react(), tailwindcss(), earlyScript(), firstLoad(), compiledAhead(), compressedFiles()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // font-src and img-src 'self' forbid data: URIs.
    assetsInlineLimit: 0,
    // All of the browsers below preload modules.
    modulePreload: { polyfill: false },
    // The first browsers that support light-dark().
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    manifest: true,
    rolldownOptions: { output: { codeSplitting: { groups: chunkGroups } } },
    reportCompressedSize: true,
  },
  // A worker may load further files.
  worker: { format: 'es' },
  server: {
    proxy: Object.fromEntries(['/api', '/auth', '/releases'].map((path) => [path, controlInDevelopment])),
  },
});
