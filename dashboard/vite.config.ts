// Builds the dashboard into dist/ as plain files, without inline scripts or styles, which control's strict CSP forbids.
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const CONTROL_IN_DEVELOPMENT = 'http://localhost:8400';
const FIRST_FONT = /overpass-latin-wght-normal.*\.woff2$/;

/** The code of every screen is in a few files: small files compress badly. */
const CHUNKS = [
  { name: 'react', test: /node_modules\/(react|react-dom|scheduler|react-router)\// },
  {
    name: 'form',
    test: /dashboard\/(form\/(text-field|use-form)|bot-check\/bot-check|pages\/auth-card|ui\/(button|field|input|banner|spinner)\.tsx)|lucide-react\/.*createLucideIcon/,
  },
];

/** Loads the text font together with the style sheet instead of after it. */
function preloadFont(): Plugin {
  return {
    name: 'underpass-preload-font',
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle }) {
        const font = Object.keys(bundle ?? {}).find((name) => FIRST_FONT.test(name));
        if (font === undefined) return [];
        return [
          {
            tag: 'link',
            attrs: { rel: 'preload', as: 'font', type: 'font/woff2', href: `/${font}`, crossorigin: '' },
            injectTo: 'head',
          },
        ];
      },
    },
  };
}

export default defineConfig({
  plugins: [react(), tailwindcss(), preloadFont()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // font-src and img-src 'self' forbid data: URIs.
    assetsInlineLimit: 0,
    // The first browsers that support light-dark().
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    manifest: true,
    rolldownOptions: { output: { codeSplitting: { groups: CHUNKS } } },
    reportCompressedSize: true,
  },
  server: {
    proxy: Object.fromEntries(['/api', '/auth', '/releases'].map((path) => [path, CONTROL_IN_DEVELOPMENT])),
  },
});
